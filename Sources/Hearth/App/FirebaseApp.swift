public import Foundation
internal import Synchronization

/// An app's identity: a name and options. Each app has Firestore objects, and caches, of its own.
public final class FirebaseApp: NSObject, Sendable {
  /// The name of the app that `configure()` and `configure(options:)` make; also part of its cache folder's path.
  static let defaultName = "__FIRAPP_DEFAULT"

  private static let apps = Mutex<[String: FirebaseApp]>([:])

  /// The app's name.
  public let name: String
  private let storedOptions: FirebaseOptions

  /// A copy of the options the app was configured with.
  public var options: FirebaseOptions { storedOptions.snapshot() }

  /// Kept for source compatibility: nothing is collected.
  public var isDataCollectionDefaultEnabled: Bool { false }

  private init(name: String, options: FirebaseOptions) {
    self.name = name
    storedOptions = options.snapshot()
  }

  /// Configures the default app from the first of these that there is:
  ///
  /// 1. `GoogleService-Info.plist`, then `google-services.json`, in the main bundle;
  /// 2. the same in the working folder;
  /// 3. the environment variable `FIREBASE_CONFIG`: JSON with `projectId` and the like, or the path of a file with it;
  /// 4. without any of them, the project id of the environment, see ``FirebaseOptions/projectID``.
  ///
  /// A file that is there but cannot be used is named in the log, and every operation of the app's databases fails with
  /// `failedPrecondition` and the reason. Configuring the default app twice is a programming error.
  public class func configure() {
    configure(options: ConfigurationSearch.ofProcess.options())
  }

  /// Configures the default app. Configuring it twice is a programming error.
  public class func configure(options: FirebaseOptions) {
    configure(name: defaultName, options: options)
  }

  /// Configures another app.
  ///
  /// - Parameters:
  ///   - name: Not empty; two apps of one name are a programming error.
  ///   - options: Copied; later changes of the object have no effect on the app.
  public class func configure(name: String, options: FirebaseOptions) {
    requireValid { () throws(ProgrammingError) in try register(name: name, options: options) }
  }

  /// The default app, or nil before it is configured.
  public class func app() -> FirebaseApp? { app(name: defaultName) }

  /// The app of this name, or nil before it is configured.
  public class func app(name: String) -> FirebaseApp? { apps.withLock { $0[name] } }

  /// All configured apps by name, or nil if there are none.
  public class var allApps: [String: FirebaseApp]? { apps.withLock { $0.isEmpty ? nil : $0 } }

  /// Terminates the app's Firestore objects and forgets the app. What is in the cache stays there.
  ///
  /// - Parameter completion: Called on the main queue when everything is closed, with whether the app was still known.
  public func delete(_ completion: @escaping (Bool) -> Void) {
    let completion = UncheckedSendableBox(completion)
    close { existed in
      DispatchQueue.main.async { completion.value(existed) }
    }
  }

  /// Terminates the app's Firestore objects and forgets the app. What is in the cache stays there.
  ///
  /// - Returns: Whether the app was still known.
  @discardableResult
  public func delete() async -> Bool {
    await withCheckedContinuation { continuation in
      close { continuation.resume(returning: $0) }
    }
  }

  private func close(then completion: @escaping @Sendable (Bool) -> Void) {
    let existed = FirebaseApp.apps.withLock { apps in
      guard apps[name] === self else { return false }
      apps[name] = nil
      return true
    }
    Firestore.terminateAll(of: self) { completion(existed) }
  }

  static func register(name: String, options: FirebaseOptions) throws(ProgrammingError) {
    guard !name.isEmpty else { throw ProgrammingError("App name cannot be empty.") }
    let isNew = apps.withLock { apps in
      guard apps[name] == nil else { return false }
      apps[name] = FirebaseApp(name: name, options: options)
      return true
    }
    guard isNew else {
      throw ProgrammingError(
        name == defaultName
          ? "Default app has already been configured." : "App named \(name) has already been configured.")
    }
  }
}

extension FirebaseOptions {
  fileprivate func snapshot() -> FirebaseOptions {
    copy() as? FirebaseOptions ?? self
  }
}
