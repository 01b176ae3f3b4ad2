package fencepost.placement;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.EnsemblePlacementPolicy;
import org.apache.bookkeeper.client.RackawareEnsemblePlacementPolicy;
import org.apache.bookkeeper.net.BookieId;

/**
 * BookKeeper's default placement, except that the creator of a ledger may name its first ensemble.
 *
 * <p>The ensemble is in the ledger's custom metadata under {@link #KEY}: bookie ids in their order,
 * joined by commas. The order decides the write set of every entry, so a scenario can say which bookie
 * stores what. Replacements, and the order in which replicas are read, are the default policy's.
 */
public class ChosenEnsemble extends RackawareEnsemblePlacementPolicy {
    /** Key in the custom metadata. */
    public static final String KEY = "fencepost.ensemble";

    @Override
    public PlacementResult<List<BookieId>> newEnsemble(
            int ensembleSize, int writeQuorumSize, int ackQuorumSize, Map<String, byte[]> customMetadata,
            Set<BookieId> excludeBookies) throws BKException.BKNotEnoughBookiesException {
        byte[] chosen = customMetadata == null ? null : customMetadata.get(KEY);
        if (chosen == null) {
            return super.newEnsemble(ensembleSize, writeQuorumSize, ackQuorumSize, customMetadata, excludeBookies);
        }
        List<BookieId> bookies = new ArrayList<>();
        for (String id : new String(chosen, StandardCharsets.UTF_8).split(",")) {
            bookies.add(BookieId.parse(id));
        }
        if (bookies.size() != ensembleSize || bookies.stream().anyMatch(excludeBookies::contains)) {
            throw new BKException.BKNotEnoughBookiesException();
        }
        return PlacementResult.of(bookies, EnsemblePlacementPolicy.PlacementPolicyAdherence.MEETS_STRICT);
    }
}
