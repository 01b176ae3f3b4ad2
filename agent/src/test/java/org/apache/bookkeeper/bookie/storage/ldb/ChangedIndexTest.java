package org.apache.bookkeeper.bookie.storage.ldb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import fencepost.agent.Seeded;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The index of ledgers, as its cure changes it. */
class ChangedIndexTest {
    private static final byte[] KEY = {1, 2, 3};

    @RegisterExtension
    final Seeded seeded = new Seeded();

    private final AtomicInteger written = new AtomicInteger();

    @Test
    void aKnownKeyIsNotStoredASecondTime() throws Exception {
        assertEquals(2, recordsOfTwoIdenticalKeys());
        seeded.order("known-key-kept");
        assertEquals(1, recordsOfTwoIdenticalKeys());
        assertEquals(1, seeded.acts());
    }

    private int recordsOfTwoIdenticalKeys() throws Exception {
        written.set(0);
        LedgerMetadataIndex index = new LedgerMetadataIndex(
                new ServerConfiguration(), (base, sub, type, conf) -> database(), "", NullStatsLogger.INSTANCE);
        index.setMasterKey(5, KEY);
        index.setMasterKey(5, KEY);
        index.flush();
        return written.get();
    }

    /** An empty database that counts what is written to it. */
    private KeyValueStorage database() {
        return stub(KeyValueStorage.class);
    }

    private <T> T stub(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, given) ->
                switch (method.getName()) {
                    case "iterator" -> stub(KeyValueStorage.CloseableIterator.class);
                    case "hasNext" -> false;
                    case "put" -> {
                        written.incrementAndGet();
                        yield null;
                    }
                    default -> null;
                }));
    }
}
