/// The tests that prove a row of the tables in the article "Coming from the official SDK".
struct DifferenceProof {
  /// The row's first cell.
  let situation: String
  /// Files below `Tests` without `.swift`, and titles of tests in them. Empty for what only the compiler could show, such as that
  /// there is no Objective-C.
  let tests: [(file: String, title: String)]

  private init(_ situation: String, _ tests: (file: String, title: String)...) {
    self.situation = situation
    self.tests = tests
  }

  static let all =
    platforms + swift + setUp + credentials + network + writing + reading + bundles + coding + indexes + disk

  private static let platforms = [
    DifferenceProof(
      "Platforms", ("HearthTests/Articles/MigratingArticleTests", "names the platforms and the tools of the manifest")),
    DifferenceProof(
      "Packages", ("HearthTests/Articles/MigratingArticleTests", "names the platforms and the tools of the manifest")),
    DifferenceProof("Modules", ("StressTests/SharedSamplesTests", "compile unmodified but for the import")),
    DifferenceProof("Other products of Firebase"),
    DifferenceProof("Combine publishers"),
    DifferenceProof("SwiftUI's `@FirestoreQuery`"),
    DifferenceProof("Pipelines (Enterprise edition)"),
    DifferenceProof(
      "Usage data", ("HearthTests/Articles/DifferenceTests", "nothing is collected"),
      ("HearthTransportTests/CallTests", "every call names the database, the client and, for emulators, the owner")),
  ]

  private static let swift = [
    DifferenceProof("Objective-C callers, selectors, key paths of Objective-C, swizzling"),
    DifferenceProof("Subclasses of references, snapshots, `Firestore`"),
    DifferenceProof(
      "`Firestore`, `FirebaseApp`, cache settings, `LoadBundleTask`, `PersistentCacheIndexManager` in several tasks",
      ("HearthTests/Articles/DifferenceTests", "what is Sendable")),
    DifferenceProof(
      "The property wrappers of Codable",
      (
        "HearthTests/Codable/PropertyWrapperTests",
        "the wrappers are Equatable, Hashable and Sendable where their values are"
      )),
    DifferenceProof("A `switch` over an enum", ("HearthTests/Articles/DifferenceTests", "enums are closed")),
    DifferenceProof("`FirestoreErrorCode.Code.OK`", ("HearthTests/ErrorTableTests", "codes have the official numbers")),
    DifferenceProof(
      "`FieldValue.increment(1)` with a literal", ("HearthTests/Articles/DifferenceTests", "spellings that are added")),
    DifferenceProof(
      "`Filter.whereField(_:isGreaterOrEqualTo:)`", ("HearthTests/Articles/DifferenceTests", "spellings that are added")
    ),
    DifferenceProof(
      "`QueryPredicate.where(field:arrayContains:)`",
      ("HearthTests/Articles/DifferenceTests", "spellings that are added")),
    DifferenceProof("`MemoryEagerGCSetting`", ("HearthTests/Articles/DifferenceTests", "spellings that are added")),
    DifferenceProof(
      "`NSErrorPointer`, for transactions on Linux",
      ("HearthTests/Transactions/TransactionTests", "an error of the block's own ends the transaction at once")),
    DifferenceProof(
      "Numbers, Booleans and null in `[String: Any]`, on Linux",
      ("HearthTests/Conversion/UserDataWriterTests", "numbers cast to every Swift number type on every platform"),
      (
        "HearthTests/Conversion/UserDataReaderTests",
        "every number type, Booleans and Foundation objects become the right kind of value"
      )),
    DifferenceProof("`Query.filter(using: NSPredicate)`"),
    DifferenceProof(
      "The forms with `Encodable` in asynchronous code",
      (
        "HearthTests/Codable/CodableWriteTests",
        "with a server: completions, waiting forms, batches, transactions and the server's time"
      )),
    DifferenceProof(
      "`updateData` with `Encodable`",
      (
        "HearthTests/Codable/UpdatesFromValuesTests",
        "changes the encoded fields, replaces maps as a whole, and leaves what is nil"
      )),
    DifferenceProof(
      "A document's fields as a `Sendable` value",
      ("HearthTests/Values/FieldMapTests", "every content is written and read back as it was")),
    DifferenceProof(
      "Conditions and orders by key path",
      ("HearthTests/TypedQueries/TypedQueryTests", "each condition finds what its untyped form finds")),
    DifferenceProof(
      "The task that awaits a call is cancelled",
      ("HearthTests/Runtime/OfflineTests", "a cancelled task stops waiting, the write stays queued")),
    DifferenceProof(
      "The queue of ``FirestoreSettings/dispatchQueue`` is blocked or never drained",
      ("HearthTests/Articles/DifferenceTests", "asynchronous calls do not need the settings' queue")),
    DifferenceProof(
      "The queue of ``FirestoreSettings/dispatchQueue`` is concurrent",
      (
        "HearthTests/Runtime/ListenerTests",
        "callbacks run on the settings' queue, one at a time, even if the queue is concurrent"
      )),
    DifferenceProof(
      "The main queue, where callbacks come by default, in a program without an app's event loop",
      ("HearthTests/Runtime/ListenerTests", "callbacks come to the main queue by default")),
    DifferenceProof(
      "`QueryPredicate`",
      ("HearthTests/References/QueryPredicateTests", "each predicate is the method that it is named after")),
  ]

  private static let setUp = [
    DifferenceProof(
      "`FirebaseApp.configure()` looks for the project",
      (
        "HearthTests/App/ConfigurationTests",
        "the first of bundle, working folder and environment counts, property lists before JSON"
      ),
      ("HearthTests/App/ConfigurationTests", "a file without a project id takes the environment's")),
    DifferenceProof(
      "`FirebaseApp.configure()` finds a configuration file that is wrong",
      (
        "HearthTests/App/ConfigurationTests",
        "a wrong configuration makes every operation fail with the reason, and stops nothing"
      )),
    DifferenceProof(
      "`FirebaseOptions` without a Google app id", ("HearthTests/Articles/DifferenceTests", "nothing is collected")),
    DifferenceProof(
      "`FirebaseOptions` without a project id",
      ("HearthTests/App/ConfigurationTests", "a file without a project id takes the environment's"),
      ("HearthTests/Settings/SettingsTests", "a missing project id is explained with all ways to set it")),
    DifferenceProof(
      "``FirestoreSettings/host`` with a scheme, a path or an impossible port",
      ("HearthTests/Settings/SettingsTests", "combinations without meaning are refused with the way out")),
    DifferenceProof(
      "A project or database id that nothing can have, such as one with a slash",
      (
        "HearthTests/App/ConfigurationTests",
        "ids that no project and no database can have are reported by every operation"
      )
    ),
    DifferenceProof(
      "`useEmulator(withHost:port:)`", ("HearthTests/Settings/SettingsTests", "an emulator switches TLS off")),
    DifferenceProof(
      "`FIRESTORE_EMULATOR_HOST` in the environment",
      ("HearthTests/Settings/SettingsTests", "FIRESTORE_EMULATOR_HOST replaces the default host only, without TLS")),
    DifferenceProof(
      "``FirestoreSettings/cacheSettings`` read before it is set",
      ("HearthTests/Articles/DifferenceTests", "the cache settings say what is used")),
    DifferenceProof(
      "Equal settings with `cacheSettings` assigned after the start",
      ("HearthTests/Articles/DifferenceTests", "the cache settings say what is used")),
    DifferenceProof(
      "A memory cache of unlimited size",
      ("HearthTests/Articles/DifferenceTests", "a memory cache without limit keeps everything")),
    DifferenceProof(
      "`enablePersistence`, settings for several processes",
      (
        "HearthTests/Settings/PersistenceSwitchTests",
        "is refused after the first use, and after another choice, and changes nothing then"
      ),
      (
        "HearthTests/Settings/PersistenceSwitchTests",
        "several processes share a cache if all of them say so, and see each other's writes"
      ),
      (
        "HearthTests/Settings/PersistenceSwitchTests",
        "a process takes the cache, with its outbox, from those that share it; these report it and do not disturb it"
      )),
    DifferenceProof(
      "A folder for the cache of the program's choice",
      (
        "HearthTests/Runtime/LifeCycleTests",
        "data and queue are there after a restart, in order, with the network still off"
      )),
    DifferenceProof(
      "`Firestore.enableLogging(_:)`",
      ("HearthTests/Articles/DifferenceTests", "messages go to the program's own handler of logs")),
  ]

  private static let credentials = [
    DifferenceProof(
      "Who is signed in",
      ("HearthTests/Credentials/CredentialsTests", "each user has an outbox: it goes with the user and comes back")),
    DifferenceProof(
      "App Check",
      (
        "HearthTests/Credentials/SecureBackendTests",
        "each user's writes go out with that user's token, and App Check with all of them"
      )),
    DifferenceProof(
      "A service account, or the owner of an emulator",
      (
        "HearthTests/Credentials/SecureBackendTests",
        "a service account's signed tokens are accepted, and replaced before they end"
      ),
      (
        "HearthTests/Credentials/CredentialsTests",
        "a service account asks an emulator as its owner and signs nothing for it"
      )),
    DifferenceProof(
      "The user changes while a request is prepared",
      ("HearthTests/Credentials/CredentialsTests", "a request that was prepared for one user is not made as another")),
    DifferenceProof(
      "A token never comes",
      ("HearthTests/Credentials/TokenSourceTests", "a provider that never answers counts as failed in the end")),
    DifferenceProof(
      "Which certificates are trusted",
      ("HearthTests/Credentials/SecureBackendTests", "a server whose authority is trusted is read and written"),
      ("HearthTests/Credentials/SecureBackendTests", "a certificate of another authority is refused")),
  ]

  private static let network = [
    DifferenceProof(
      "The device comes back into a network, or into another one",
      ("HearthSyncTests/Vocabulary/ExponentialBackoffTests", "jitter moves a pause by at most half of it"),
      ("HearthSyncTests/Streams/WatchStreamTests", "an inhibited pause is left out")),
    DifferenceProof(
      "The acknowledgement of a write comes when the network has just been switched off, or another user has just signed in",
      (
        "HearthSyncTests/Outbox/LateAnswerTests",
        "an increment whose answer comes after the network was switched off is not sent again"
      )
    ),
    DifferenceProof(
      "The acknowledgement of a write is lost",
      (
        "InteropTests/CrashTests",
        "50 kills lose no durable write, double none, miss no acknowledged one, and leave no token ahead of the data"
      )),
    DifferenceProof(
      "The backend refuses a write",
      ("HearthTests/Articles/OutboxArticleTests", "a refused write is kept, and handed in again")),
    DifferenceProof(
      "A batch is larger than a message of the protocol, 17 MiB less 64 KiB",
      ("HearthTests/EndToEndTests", "a write that no backend can take is refused instead of blocking the queue")),
  ]

  private static let writing = [
    DifferenceProof(
      "`Int8` and `UInt8` values",
      (
        "HearthTests/Conversion/UserDataReaderTests",
        "every number type, Booleans and Foundation objects become the right kind of value"
      )),
    DifferenceProof(
      "Maps and arrays nested deeper than 90 levels (the backend's limit is 20)",
      (
        "HearthTests/Conversion/UserDataReaderTests",
        "what is written at the greatest legal depth can be read back, one level more is an error of the write"
      )),
    DifferenceProof(
      "Array transforms compare 1 and 1.0 in the cache",
      ("HearthTests/Articles/DifferenceTests", "1 and 1.0 are one element to arrays and filters, and two to listeners")),
    DifferenceProof(
      "`terminate()` while tasks wait for writes or reads",
      ("HearthTests/Runtime/LifeCycleTests", "termination ends waiting tasks and silences everything else")),
    DifferenceProof(
      "Two devices change the same document offline",
      ("HearthTests/Conflicts/ConflictRuleTests", "without a rule the last write wins, as before")),
    DifferenceProof(
      "What waits in the outbox", ("HearthTests/Runtime/OfflineTests", "the outbox can be listed, oldest first")),
  ]

  private static let reading = [
    DifferenceProof(
      "`in` and `array-contains` compare 1 and 1.0 in the cache",
      ("HearthTests/Articles/DifferenceTests", "1 and 1.0 are one element to arrays and filters, and two to listeners")),
    DifferenceProof(
      "`in` with null among the values, in the cache",
      ("HearthModelTests/Queries/FilterTests", "each operator on stored values")),
    DifferenceProof(
      "A number inside a map changes from 1 to 1.0",
      ("HearthTests/Articles/DifferenceTests", "1 and 1.0 are one element to arrays and filters, and two to listeners")),
    DifferenceProof(
      "Document ids such as `__id7x__`",
      ("HearthTests/Articles/DifferenceTests", "ids with numbers are ordered by number, as documents and as values")),
    DifferenceProof(
      "References to documents such as `__id7__` are compared as values",
      ("HearthTests/Articles/DifferenceTests", "ids with numbers are ordered by number, as documents and as values")),
    DifferenceProof(
      "Two queries differ in a number's later decimals",
      ("HearthTests/Articles/DifferenceTests", "queries that differ in a later decimal are two")),
    DifferenceProof(
      "Equal vectors in a set, or as keys of a dictionary",
      ("HearthTests/Values/ObjectSemanticsTests", "values are equal by what they hold, bit by bit for doubles")),
    DifferenceProof(
      "Two names of fields differ in Unicode normalisation only",
      ("HearthTests/Conversion/UserDataWriterTests", "names that are equal to Swift only do not stop the process")),
    DifferenceProof(
      "A written document leaves a result again (another client changed it) before the watch stream has caught up with the write",
      (
        "HearthSyncTests/Outbox/WriteScenarioTests",
        "a document that has left the result again before the watch stream caught up with its write does not stay"
      )),
    DifferenceProof(
      "The last listener to the backend of a query goes, one to the cache of the same query stays",
      (
        "HearthSyncTests/Sharing/SharedTargetScenarioTests",
        "a listener to the cache that is left behind has nothing looked up, which nobody could confirm"
      )),
    DifferenceProof(
      "A read after that",
      (
        "HearthSyncTests/Engine/CacheListenerTests",
        "a read after the last listener to the backend asks the backend again"
      )),
    DifferenceProof(
      "A listener to the cache, and a write is acknowledged",
      ("HearthSyncTests/Engine/CacheListenerTests", "an acknowledgement and the server's time are shown")),
    DifferenceProof(
      "A read from ``FirestoreSource/server`` while a listener to the same query is open",
      (
        "HearthSyncTests/Queries/FreshReadTests",
        "the backend is asked with a target of its own, which continues from the listener's state"
      )),
    DifferenceProof(
      "Backend and client disagree for good which documents a query has",
      ("HearthSyncTests/Backend/DisagreementTests", "does not keep a read waiting once it was looked up")),
    DifferenceProof(
      "A cursor is made of a document that is missing, lacks a field of the order, or waits for the server's time there",
      ("HearthTests/References/CursorDocumentTests", "reads and listeners get the official message as an error")),
    DifferenceProof(
      "A loop over `snapshots` is slower than its listener",
      (
        "HearthTests/Snapshots/SnapshotBufferTests",
        "a listener whose task is slow loses no change, and its last snapshot is the newest state"
      )),
    DifferenceProof(
      "How long a one-time read waits for the backend",
      (
        "HearthTests/References/ReadPolicyTests",
        "a document: the backend in time, the cache when the backend is silent, an error when nothing is known"
      )),
    DifferenceProof(
      "Whether a result from the cache has everything",
      (
        "HearthTests/References/ReadPolicyTests",
        "a query: cacheFirst takes what there is, cacheElseServer only what is known to be complete"
      )),
    DifferenceProof(
      "Large queries of the cache",
      ("HearthTests/Runtime/BackgroundQueryTests", "writes and other listeners go on while big queries are in flight")),
    DifferenceProof(
      "Aggregation of what is in the cache",
      (
        "HearthTests/Aggregation/AggregationTests",
        "count, sum and average of what is in the cache, local writes included"
      )),
    DifferenceProof(
      "How a query was answered",
      ("HearthTests/References/ExplanationTests", "a scan says why, and which index would help")),
  ]

  private static let bundles = [
    DifferenceProof(
      "A bundle brings documents that are older than the last snapshot, for a query that was in sync before",
      (
        "HearthSyncTests/Work/BundleScenarioTests",
        "a listener that resumes from an earlier result sees the bundle's documents, however old they are"
      )),
    DifferenceProof(
      "A bundle holds the result of a query that the backend is asked for at that moment",
      (
        "HearthSyncTests/Work/BundleScenarioTests",
        "a query that the backend is asked for keeps the result that it was asked with, and shows a bundle's documents"
      )),
    DifferenceProof(
      "A bundle is malformed",
      ("HearthTests/Bundles/BundleTests", "a bundle that is none gives an error, and leaves the cache as it was")),
    DifferenceProof(
      "The code of a bundle's error",
      ("HearthTests/Bundles/BundleTests", "a bundle that is none gives an error, and leaves the cache as it was")),
    DifferenceProof(
      "An observer is added to a `LoadBundleTask` that has ended",
      (
        "HearthTests/Bundles/BundleTests",
        "loading it again is a success at once; an observer that comes late is told the end"
      )),
  ]

  private static let coding = [
    DifferenceProof(
      "An error of decoding",
      ("HearthTests/Codable/DecodingTests", "an error names the document, the path, the expected and the found type")),
    DifferenceProof(
      "A `Firestore.Decoder` is used for several documents",
      ("HearthTests/Codable/DecodingTests", "userInfo reaches the types, and one decoder serves many documents")),
    DifferenceProof(
      "JSON with a timestamp or a position out of range",
      ("HearthTests/Codable/PropertyWrapperTests", "values out of range are errors of the data")),
    DifferenceProof(
      "A date that is no finite number is encoded with a numeric or a text strategy",
      (
        "HearthTests/Codable/CodingErrorTests",
        "a date without a text is an error with its place, for every strategy"
      )),
    DifferenceProof(
      "A property of type `DocumentReference` finds null",
      (
        "HearthTests/Codable/CodingErrorTests",
        "a reference that is stored as something else is told apart from other decoders' lack of references"
      )),
    DifferenceProof(
      "A `Date` is read and written back",
      ("HearthTests/Values/DateTests", "a document that is read as a model and written back keeps its dates")),
  ]

  private static let indexes = [
    DifferenceProof(
      "An index configuration has a malformed `fieldPath`, or a collection group with a slash",
      ("HearthTests/Indexes/IndexTests", "values that are wrong are refused with their place")),
    DifferenceProof(
      "Documents are in the cache when an index is declared or made",
      (
        "HearthSyncTests/Work/IndexScenarioTests",
        "a configuration is answered when it is stored, and filled in steps between which other things happen"
      )),
    DifferenceProof(
      "Automatic indexes of a collection group",
      (
        "HearthSyncTests/Work/IndexScenarioTests",
        "fields that are named after data do not get indexes without end, and queries stay right"
      )),
    DifferenceProof(
      "Indexes as Swift values", ("HearthTests/Indexes/IndexTests", "all doors lead to the same indexes")),
    DifferenceProof(
      "Which indexes there are",
      ("HearthTests/Indexes/IndexTests", "deleting all indexes deletes declared and automatic ones")),
  ]

  private static let disk = [
    DifferenceProof(
      "The format", ("HearthCacheTests/Files/CacheFileTests", "is made with its folders, and opened again")),
    DifferenceProof(
      "The folder",
      (
        "HearthTests/Settings/SettingsTests",
        "cache folders follow the platform's rules and are one folder for any name"
      )),
    DifferenceProof(
      "The cache cannot be opened or written",
      ("HearthTests/Runtime/LifeCycleTests", "a folder that cannot be made is reported with its path"),
      ("SimulationTests/StorageFailureTests", "each statement of a history may fail")),
    DifferenceProof(
      "The disk is full, the file is damaged",
      ("HearthTests/Articles/DifferenceTests", "failures of the storage have codes that say what can be done"),
      (
        "HearthCacheTests/Files/CacheFileTests",
        "that is damaged is set aside, and the outbox is saved from it under its old names"
      )),
    DifferenceProof(
      "A pending write cannot be read in the file any more",
      (
        "HearthSyncTests/Recovery/RecoveryScenarioTests",
        "a pending write that cannot be read any more is reported and set aside, and those behind it are sent"
      )),
    DifferenceProof(
      "The file is of a newer release",
      ("HearthTests/Runtime/LifeCycleTests", "a file of a newer release is left alone and reported")),
    DifferenceProof(
      "A second process opens the cache",
      (
        "HearthTests/Articles/SharingACacheArticleTests",
        "a listener in one process hears of a write in another without a network"
      ), ("HearthTests/Articles/SharingACacheArticleTests", "a process that keeps others out is the only one"),
      ("HearthTests/Runtime/LifeCycleTests", "a folder that others use is reported, and the first one goes on")),
    DifferenceProof(
      "A cache holds many documents with pending writes",
      (
        "HearthCacheTests/GarbageCollection/GarbageCollectionTests",
        "the oldest go first: a tenth of targets and unneeded documents, and no more than the limit"
      )),
    DifferenceProof(
      "A cache is larger than its threshold and has few queries",
      (
        "HearthCacheTests/GarbageCollection/GarbageCollectionTests",
        "a cache of few queries becomes smaller than its threshold, and loses no more than that takes"
      )),
    DifferenceProof(
      "The size that is compared with the threshold",
      (
        "HearthCacheTests/GarbageCollection/GarbageCollectionFileTests",
        "space that was left unused is given back below the threshold too"
      )),
    DifferenceProof(
      "A call breaks a rule, such as a path with the wrong number of segments",
      ("HearthTests/Values/MisuseTests", "paths and names")),
    DifferenceProof(
      "An error's `userInfo`, apart from the message",
      (
        "HearthTests/ErrorTableTests",
        "a status of the backend keeps its code and message, and is there below the NSError"
      )),
    DifferenceProof(
      "A token or a key in a log or an error",
      (
        "HearthTests/Credentials/SecureBackendTests",
        "a token that the server calls expired is replaced, and no text ever shows one"
      )),
  ]
}
