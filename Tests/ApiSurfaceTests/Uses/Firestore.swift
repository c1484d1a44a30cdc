import Hearth

// section: Firestore

func useFirestore(
  app: FirebaseApp, text: String, db: Firestore, settings: FirestoreSettings, done: @escaping ((any Error)?) -> Void,
  stream: InputStream, block: @escaping (Transaction, NSErrorPointer) -> Any?,
  transactionDone: @escaping (Any?, (any Error)?) -> Void, transactionOptions: TransactionOptions, flag: Bool,
  number: Int, inSync: @escaping () -> Void, bytes: Data,
  bundleDone: @escaping (LoadBundleTaskProgress?, (any Error)?) -> Void, namedDone: @escaping (Query?) -> Void
) {
  // row: class func firestore() -> Self
  let _: Firestore = Firestore.firestore()
  // row: class func firestore(app: FirebaseApp) -> Self
  let _: Firestore = Firestore.firestore(app: app)
  // row: class func firestore(app: FirebaseApp, database: String) -> Self
  let _: Firestore = Firestore.firestore(app: app, database: text)
  // row: class func firestore(database: String) -> Self
  let _: Firestore = Firestore.firestore(database: text)
  // row: var settings: FirestoreSettings { get set }
  let _: FirestoreSettings = db.settings
  db.settings = settings
  // row: var app: FirebaseApp { get }
  let _: FirebaseApp = db.app
  // row: var persistentCacheIndexManager: PersistentCacheIndexManager? { get }
  let _: PersistentCacheIndexManager? = db.persistentCacheIndexManager
  // row: func setIndexConfiguration(_ json: String, completion: (((any Error)?) -> Void)? = nil)
  db.setIndexConfiguration(text, completion: done)
  db.setIndexConfiguration(text)
  // row: func setIndexConfiguration(_ stream: InputStream, completion: (((any Error)?) -> Void)? = nil)
  db.setIndexConfiguration(stream, completion: done)
  db.setIndexConfiguration(stream)
  // row: func collection(_ collectionPath: String) -> CollectionReference
  let _: CollectionReference = db.collection(text)
  // row: func document(_ documentPath: String) -> DocumentReference
  let _: DocumentReference = db.document(text)
  // row: func collectionGroup(_ collectionID: String) -> Query
  let _: Query = db.collectionGroup(text)
  // row: func batch() -> WriteBatch
  let _: WriteBatch = db.batch()
  // row: func runTransaction(_ updateBlock: @escaping (Transaction, NSErrorPointer) -> Any?, completion: @escaping
  //   (Any?, (any Error)?) -> Void)
  db.runTransaction(block, completion: transactionDone)
  // row: func runTransaction(with options: TransactionOptions?, block updateBlock: @escaping (Transaction,
  //   NSErrorPointer) -> Any?, completion: @escaping (Any?, (any Error)?) -> Void)
  db.runTransaction(with: transactionOptions, block: block, completion: transactionDone)
  db.runTransaction(with: nil, block: block, completion: transactionDone)
  // row: class func enableLogging(_ logging: Bool)
  Firestore.enableLogging(flag)
  // row: func useEmulator(withHost host: String, port: Int)
  db.useEmulator(withHost: text, port: number)
  // row: func enableNetwork(completion: (((any Error)?) -> Void)? = nil)
  db.enableNetwork(completion: done)
  db.enableNetwork()
  // row: func disableNetwork(completion: (((any Error)?) -> Void)? = nil)
  db.disableNetwork(completion: done)
  db.disableNetwork()
  // row: func clearPersistence(completion: (((any Error)?) -> Void)? = nil)
  db.clearPersistence(completion: done)
  db.clearPersistence()
  // row: func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void)
  db.waitForPendingWrites(completion: done)
  // row: func addSnapshotsInSyncListener(_ listener: @escaping () -> Void) -> any ListenerRegistration
  let _: any ListenerRegistration = db.addSnapshotsInSyncListener(inSync)
  db.addSnapshotsInSyncListener(inSync)
  // row: func terminate(completion: (((any Error)?) -> Void)? = nil)
  db.terminate(completion: done)
  db.terminate()
  // row: func loadBundle(_ bundleData: Data) -> LoadBundleTask
  let _: LoadBundleTask = db.loadBundle(bytes)
  db.loadBundle(bytes)
  // row: func loadBundle(_ bundleData: Data, completion: ((LoadBundleTaskProgress?, (any Error)?) -> Void)? = nil)
  //   -> LoadBundleTask
  let _: LoadBundleTask = db.loadBundle(bytes, completion: bundleDone)
  let _: LoadBundleTask = db.loadBundle(bytes)
  // row: func loadBundle(_ bundleStream: InputStream) -> LoadBundleTask
  let _: LoadBundleTask = db.loadBundle(stream)
  // row: func loadBundle(_ bundleStream: InputStream, completion: ((LoadBundleTaskProgress?, (any Error)?) ->
  //   Void)? = nil) -> LoadBundleTask
  let _: LoadBundleTask = db.loadBundle(stream, completion: bundleDone)
  let _: LoadBundleTask = db.loadBundle(stream)
  // row: func getQuery(named name: String, completion: @escaping (Query?) -> Void)
  db.getQuery(named: text, completion: namedDone)
}

func useFirestoreAsync(db: Firestore, text: String, stream: InputStream, bytes: Data) async throws {
  // row: func setIndexConfiguration(_ json: String) async throws
  try await db.setIndexConfiguration(text)
  // row: func setIndexConfiguration(_ stream: InputStream) async throws
  try await db.setIndexConfiguration(stream)
  // row: func runTransaction(_ updateBlock: @escaping (Transaction, NSErrorPointer) -> sending Any?) async throws
  //   -> sending Any?
  let _: Any? = try await db.runTransaction { (transaction: Transaction, error: NSErrorPointer) in
    error?.pointee = nil
    return nil
  }
  // row: func enableNetwork() async throws
  try await db.enableNetwork()
  // row: func disableNetwork() async throws
  try await db.disableNetwork()
  // row: func clearPersistence() async throws
  try await db.clearPersistence()
  // row: func waitForPendingWrites() async throws
  try await db.waitForPendingWrites()
  // row: func terminate() async throws
  try await db.terminate()
  // row: func loadBundle(_ bundleData: Data) async throws -> LoadBundleTaskProgress
  let _: LoadBundleTaskProgress = try await db.loadBundle(bytes)
  // row: func loadBundle(_ bundleStream: InputStream) async throws -> LoadBundleTaskProgress
  let _: LoadBundleTaskProgress = try await db.loadBundle(stream)
  // row: func getQuery(named name: String) async -> Query?
  let _: Query? = await db.getQuery(named: text)
}
