import Hearth

// section: FirebaseCore companions that documentation samples need

func useApps(firebaseOptions: FirebaseOptions, text: String, app: FirebaseApp) {
  // row: FirebaseApp.configure()
  FirebaseApp.configure()
  // row: FirebaseApp.configure(options: FirebaseOptions)
  FirebaseApp.configure(options: firebaseOptions)
  // row: FirebaseApp.configure(name: String, options: FirebaseOptions)
  FirebaseApp.configure(name: text, options: firebaseOptions)
  // row: FirebaseApp.app() -> FirebaseApp?
  let _: FirebaseApp? = FirebaseApp.app()
  // row: FirebaseApp.app(name: String) -> FirebaseApp?
  let _: FirebaseApp? = FirebaseApp.app(name: text)
  // row: FirebaseApp.allApps: [String: FirebaseApp]? { get }
  let _: [String: FirebaseApp]? = FirebaseApp.allApps
  // row: FirebaseApp.name, .options, .isDataCollectionDefaultEnabled
  let _: String = app.name
  let _: FirebaseOptions = app.options
  let _: Bool = app.isDataCollectionDefaultEnabled
  // row: FirebaseOptions.init(googleAppID: String, gcmSenderID: String)
  let _: FirebaseOptions = FirebaseOptions(googleAppID: text, gcmSenderID: text)
  // row: FirebaseOptions.init?(contentsOfFile: String)
  let _: FirebaseOptions? = FirebaseOptions(contentsOfFile: text)
  // row: FirebaseOptions.apiKey, projectID, googleAppID, gcmSenderID, bundleID, clientID, databaseURL,
  //   storageBucket, appGroupID
  let _: String? = firebaseOptions.apiKey
  firebaseOptions.apiKey = text
  let _: String? = firebaseOptions.projectID
  firebaseOptions.projectID = text
  let _: String? = firebaseOptions.clientID
  firebaseOptions.clientID = text
  let _: String? = firebaseOptions.databaseURL
  firebaseOptions.databaseURL = text
  let _: String? = firebaseOptions.storageBucket
  firebaseOptions.storageBucket = text
  let _: String? = firebaseOptions.appGroupID
  firebaseOptions.appGroupID = text
  let _: String = firebaseOptions.googleAppID
  firebaseOptions.googleAppID = text
  let _: String = firebaseOptions.gcmSenderID
  firebaseOptions.gcmSenderID = text
  let _: String = firebaseOptions.bundleID
  firebaseOptions.bundleID = text
}

func useAppsAsync(app: FirebaseApp) async {
  // row: FirebaseApp.delete(_ completion: @escaping (Bool) -> Void) / delete() async -> Bool
  app.delete { (deleted: Bool) in _ = deleted }
  let _: Bool = await app.delete()
}
