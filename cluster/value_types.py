"""Types of the settings of bookies and clients, and values of another type, which BookKeeper does not accept.

It throws ``ConversionException`` on them, and fails on a class that it does not find.
Source: the getters of ``ServerConfiguration``, ``ClientConfiguration``, ``AbstractConfiguration`` and
``DbLedgerStorage`` in 4.14.7, 4.16.4 and 4.18.0; ``PropertyConverter`` of Apache Commons Configuration. Other
keys are text, or unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches

from protocol.modes import DB_STORAGE, DEFAULT_STORAGE, STORAGE, is_boolean

_BOOLEANS = """
    allocatorExitOnOutOfMemory allowEphemeralPorts allowLoopback allowMultipleDirsUnderSameDiskPartition
    allowShadedLedgerManagerFactoryClass allowStorageExpansion autoRecoveryDaemonEnabled
    closeChannelOnResponseTimeout dataIntegrityChecking dataIntegrityStampMissingCookies
    dbStorage_directIOEntryLogger dbStorage_rocksDB_lz4CompressionEnabled disableServerSocketBind
    enableBusyWait enableLocalTransport enableStatistics enableTaskExecutionStats
    enforceMinNumFaultDomainsForWrite enforceMinNumRacksPerWriteQuorum enforceStrictZoneawarePlacement
    entryLogFilePreallocationEnabled entryLogPerLedgerEnabled forceAllowCompaction forceReadOnlyBookie
    gcEntryLogMetadataCacheEnabled httpServerEnabled httpServerTlsEnable
    ignoreExtraServerComponentsStartupFailures ignoreLocalNodeInPlacementPolicy
    isForceGCAllowWhenNoSpace isThrottleByBytes journalAdaptiveGroupWrites journalFlushWhenQueueEmpty
    journalRemoveFromPageCache journalReuseFiles journalSyncData journalWriteData limitStatsLogging
    localConsistencyCheckOnStartup persistBookieStatusEnabled preserveMdcForTaskExecution
    readOnlyModeEnabled readOnlyModeOnAnyDiskFullEnabled readWorkerThreadsThrottlingEnabled
    repairedPlacementPolicyNotAdheringBookieEnabled sanityCheckMetricsEnabled serverSockKeepalive
    serverTcpNoDelay skipReplayJournalInvalidRecord sortedLedgerStorageEnabled
    storeSystemTimeAsLedgerUnderreplicatedMarkTime tlsClientAuthentication useHostNameAsBookieID
    useShortHostName useTargetEntryLogSizeForGc useTransactionalCompaction verifyMetadataOnGC
    zkEnableSecurity
"""
_INTEGERS = """
    allocatorPoolingConcurrency auditorAcquireConcurrentOpenLedgerOperationsTimeOutMSec
    auditorLedgerVerificationPercentage auditorMaxNumberOfConcurrentOpenLedgerOperations
    auditorPeriodicBookieCheckInterval auditorPeriodicCheckInterval
    auditorPeriodicPlacementPolicyCheckInterval auditorReplicasCheckInterval bookieDeathWatchInterval
    bookiePort byteBufAllocatorSizeInitial byteBufAllocatorSizeMax byteBufAllocatorSizeMin
    compactionMaxOutstandingRequests compactionRate compactionRateByBytes compactionRateByEntries
    dbStorage_directIOEntryLoggerMaxFdCacheTimeSeconds dbStorage_directIOEntryLoggerReadBufferSizeMB
    dbStorage_directIOEntryLoggerTotalReadBufferSizeMB
    dbStorage_directIOEntryLoggerTotalWriteBufferSizeMB dbStorage_readAheadCacheBatchBytesSize
    dbStorage_readAheadCacheBatchSize dbStorage_readAheadCacheMaxSizeMb dbStorage_rocksDB_blockCacheSize
    dbStorage_rocksDB_blockSize dbStorage_rocksDB_bloomFilterBitsPerKey dbStorage_rocksDB_format_version
    dbStorage_rocksDB_maxSizeInLevel1MB dbStorage_rocksDB_numFilesInLevel0 dbStorage_rocksDB_numLevels
    dbStorage_rocksDB_sstSizeInMB dbStorage_rocksDB_writeBufferSizeMB dbStorage_writeCacheMaxSizeMb
    desiredNumZonesPerWriteQuorum diskCheckInterval entryLocationCompactionInterval
    entryLogPerLedgerCounterLimitsMultFactor entrylogMapAccessExpiryTimeInSeconds
    fileInfoCacheInitialCapacity fileInfoFormatVersionToWrite fileInfoMaxIdleTime flushEntrylogBytes
    flushInterval gcMetadataOpRateLimit gcOverreplicatedLedgerMaxConcurrentRequests
    gcOverreplicatedLedgerWaitTime gcWaitTime httpServerPort inFlightReadEntryNumInLedgerChecker
    journalAlignmentSize journalBufferedEntriesThreshold journalBufferedWritesThreshold
    journalFormatVersionToWrite journalMaxBackups journalMaxGroupWaitMSec journalMaxMemorySizeMb
    journalMaxSizeMB journalPageCacheFlushIntervalMSec journalPreAllocSizeMB journalQueueSize
    journalWriteBufferSizeKB ledgerMetadataVersion localScrubInterval
    lockReleaseOfFailedLedgerGracePeriod logSizeLimit lostBookieRecoveryDelay majorCompactionInterval
    majorCompactionMaxTimeMillis maxAddsInProgressLimit maxBatchReadSize
    maxOperationNumbersInSingleRocksdbWriteBatch maxPendingAddRequestsPerThread
    maxPendingReadRequestsPerThread maxReadsInProgressLimit maximumNumberOfActiveEntryLogs
    metastoreMaxEntriesPerScan minNumRacksPerWriteQuorum minNumZonesPerWriteQuorum
    minUsableSizeForEntryLogCreation minUsableSizeForHighPriorityWrites
    minUsableSizeForIndexFileCreation minorCompactionInterval minorCompactionMaxTimeMillis
    nettyMaxFrameSizeBytes numAddWorkerThreads numHighPriorityWorkerThreads numJournalCallbackThreads
    numLongPollWorkerThreads numOfMemtableFlushThreads numReadWorkerThreads openFileLimit
    openLedgerRereplicationGracePeriod pageLimit pageSize readBufferSizeBytes replicationRateByBytes
    requestTimerNumTicks requestTimerTickDurationMs rereplicationEntryBatchSize
    rocksDBDeleteEntriesBatchSize rwRereplicateBackoffMs serverNumAcceptorThreads serverNumIOThreads
    serverTcpKeepCnt serverTcpKeepIdle serverTcpKeepIntvl serverTcpLinger serverWriteBufferHighWaterMark
    serverWriteBufferLowWaterMark skipListArenaChunkSize skipListArenaMaxAllocSize skipListSizeLimit
    tlsCertFilesRefreshDurationSeconds underreplicatedLedgerRecoveryGracePeriod
    waitTimeoutOnResponseBackpressureMs writeBufferSizeBytes zkRetryBackoffMaxMs
    zkRetryBackoffMaxRetries zkRetryBackoffStartMs zkTimeout
"""
_FRACTIONS = """
    diskUsageLwmThreshold diskUsageThreshold diskUsageWarnThreshold localScrubRateLimit
    majorCompactionThreshold minorCompactionThreshold zkReplicationTaskRateLimit zkRequestRateLimit
"""
_CLASSES = "bookieAuthProviderFactoryClass journalChannelProvider statsProviderClass tlsProviderFactoryClass"
"""Keys whose class is looked up at every start; which classes there are depends on the installation."""
_CLIENT_BOOLEANS = """
    allocatorExitOnOutOfMemory allowShadedLedgerManagerFactoryClass batchReadEnabled
    bookieAddressResolverEnabled bookieConnectionErrorQuarantineEnabled bookieHealthCheckEnabled
    clientSockKeepalive clientTcpNoDelay delayEnsembleChange diskWeightBasedPlacementEnabled
    enableBookieAddressTracking enableBookieFailureTracking enableBusyWait enableDigestTypeAutodetection
    enableParallelRecoveryRead enableTaskExecutionStats enforceMinNumFaultDomainsForWrite
    enforceMinNumRacksPerWriteQuorum enforceStrictZoneawarePlacement
    ensemblePlacementPolicyOrderSlowBookies ignoreLocalNodeInPlacementPolicy limitStatsLogging
    nettyUsePooledBuffers opportunisticStriping preserveMdcForTaskExecution recoveryBatchReadEnabled
    reorderReadSequenceEnabled stickyReadSEnabled storeSystemTimeAsLedgerCreationTime
    storeSystemTimeAsLedgerUnderreplicatedMarkTime tlsClientAuthentication
    tlsHostnameVerificationEnabled useHostnameResolveLocalNodePlacementPolicy useV2WireProtocol
    zkEnableSecurity
"""
_CLIENT_INTEGERS = """
    addEntryQuorumTimeoutSec addEntryTimeoutSec allocatorPoolingConcurrency
    bookieErrorThresholdPerInterval bookieFailureHistoryExpirationMSec bookieHealthCheckIntervalSeconds
    bookieMaxMultipleForWeightBasedPlacement bookieQuarantineTimeSeconds
    clientConnectBookieUnavailableLogThrottling clientConnectTimeoutMillis clientReceiveBufferSize
    clientSendBufferSize clientTcpUserTimeoutMillis clientWriteBufferHighWaterMark
    clientWriteBufferLowWaterMark desiredNumZonesPerWriteQuorum explicitLacInterval
    firstSpeculativeReadLACTimeout firstSpeculativeReadTimeout getBookieInfoIntervalSeconds
    getBookieInfoRetryIntervalSeconds getBookieInfoTimeoutSecs ledgerMetadataVersion
    maxNumEnsembleChanges maxSpeculativeReadLACTimeout maxSpeculativeReadTimeout
    metastoreMaxEntriesPerScan minNumRacksPerWriteQuorum minNumZonesPerWriteQuorum
    nettyMaxFrameSizeBytes networkTopologyStabilizePeriodSeconds numChannelsPerBookie numIOThreads
    numWorkerThreads pcbcTimeoutTimerNumTicks pcbcTimeoutTimerTickDurationMs readEntryTimeoutSec
    readReorderThresholdPendingRequests readTimeout recoveryReadBatchSize replicationRateByBytes
    rereplicationEntryBatchSize speculativeReadTimeout startTLSTimeoutSecs taskExecutionWarnTimeMicros
    tcpKeepCnt tcpKeepIdle tcpKeepIntvl throttle timeoutMonitorIntervalSec timeoutTaskIntervalMillis
    timeoutTimerNumTicks timeoutTimerTickDurationMs tlsCertFilesRefreshDurationSeconds
    waitTimeoutOnBackpressureMs zkRetryBackoffMaxRetries zkTimeout
"""
_CLIENT_FRACTIONS = """
    bookieQuarantineRatio speculativeReadLACTimeoutBackoffMultiplier
    speculativeReadTimeoutBackoffMultiplier zkReplicationTaskRateLimit zkRequestRateLimit
"""
_CLIENT_CLASSES = "clientAuthProviderFactoryClass ensemblePlacementPolicy tlsProviderFactoryClass"
_PACKAGE = "org.apache.bookkeeper."
_STORAGES = (DB_STORAGE, DEFAULT_STORAGE, f"{_PACKAGE}bookie.InterleavedLedgerStorage")
_WHOLE = re.compile(r"[+-]?\d+|0x[0-9a-fA-F]+|0b[01]+")
_FRACTION = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?")
Types = Mapping[str, tuple[Callable[[str], object], str]]


def _types(booleans: str, integers: str, fractions: str, classes: str) -> Types:
    """By key: what a value must satisfy, and what one is that does not."""
    return {
        **dict.fromkeys(booleans.split(), (is_boolean, "neither true nor false")),
        **dict.fromkeys(integers.split(), (_WHOLE.fullmatch, "no whole number")),
        **dict.fromkeys(fractions.split(), (_FRACTION.fullmatch, "no number")),
        **dict.fromkeys(
            classes.split(), (lambda value: "." in value, "no class: write its name with the package")
        ),
    }


_TYPES = _types(_BOOLEANS, _INTEGERS, _FRACTIONS, _CLASSES)
_CLIENT_TYPES = _types(_CLIENT_BOOLEANS, _CLIENT_INTEGERS, _CLIENT_FRACTIONS, _CLIENT_CLASSES)


def mistyped(conf: Mapping[str, str]) -> Iterator[str]:
    """``flushInterval=abc is no whole number``, for each such setting; an empty value is not judged."""
    storage = conf.get(STORAGE, "")
    if storage and "${" not in storage and (meant := storage_meant(storage)):
        yield f"{STORAGE}={storage} is no class of BookKeeper: write {STORAGE}={meant}"
    yield from _mistyped(conf, _TYPES)


def mistyped_of_client(conf: Mapping[str, str]) -> Iterator[str]:
    """The same of a client's settings."""
    return _mistyped(conf, _CLIENT_TYPES)


def _mistyped(conf: Mapping[str, str], types: Types) -> Iterator[str]:
    for key, value in sorted(conf.items()):
        if key not in types or not value or "${" in value:
            continue
        valid, otherwise = types[key]
        if not valid(value.partition(",")[0].strip()):
            yield f"{key}={value} is {otherwise}"


def storage_meant(value: str) -> str | None:
    """The nearest storage class where ``value`` names none; a class of the user's own is not judged."""
    name = value.strip()
    similar = get_close_matches(name, _STORAGES, n=1, cutoff=0.8)
    if name in _STORAGES or ("." in name and not name.startswith(_PACKAGE) and not similar):
        return None
    by_name = {one.rpartition(".")[2]: one for one in _STORAGES}
    (nearest,) = get_close_matches(name.rpartition(".")[2], by_name, n=1, cutoff=0)
    return by_name[nearest]
