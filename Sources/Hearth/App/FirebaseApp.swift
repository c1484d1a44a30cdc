public import Foundation
internal import Synchronization

/// The identity of an app: a name and options. Each app has its own Firestore objects and caches.
///
/// ```swift
/// FirebaseApp.configure(options: FirebaseOptions(projectID: "my-project"))
/// FirebaseApp.configure(name: "archive", options: FirebaseOptions(projectID: "my-archive"))
/// let archive = FirebaseApp.app(name: "archive").map { Firestore.firestore(app: $0) }
/// ```
///
/// All functions may be called from any thread.
public final class FirebaseApp: NSObject, Sendable {
  /// The name of the app that `configure()` and `configure(options:)` make; also part of its cache folder's path.
  static let defaultName = "__FIRAPP_DEFAULT"

  private static let apps = Mutex<[String: FirebaseApp]>([:])

  /// The app's name; `"__FIRAPP_DEFAULT"` for the default app.
  public let name: String
  private let storedOptions: FirebaseOptions

  /// A copy of the options the app was configured with. Changing the copy has no effect.
  public var options: FirebaseOptions { storedOptions.snapshot() }

  /// Always false. Kept for source compatibility: no data is collected.
  public var isDataCollectionDefaultEnabled: Bool { false }

  private init(name: String, options: FirebaseOptions) {
    self.name = name
    storedOptions = options.snapshot()
  }

  /// Configures the default app from the first of these that exists:
  ///
  /// 1. `GoogleService-Info.plist`, then `google-services.json`, in the main bundle;
  /// 2. the same files in the working folder;
  /// 3. the environment variable `FIREBASE_CONFIG`: JSON with `projectId` and the like, or the path of a file with it;
  /// 4. without any of them, the project id of the environment, see ``FirebaseOptions/projectID``.
  ///
  /// If a file exists but cannot be used, the log names it, and every operation of the app's databases fails with `failedPrecondition` and
  /// the reason. Configuring the default app twice is a programming error.
  public class func configure() {
    configure(options: ConfigurationSearch.ofProcess.options())
  }

  /// Configures the default app.
  ///
  /// - Parameter options: The options, above all the project. They are copied: later changes have no effect. Options without a project id
  ///   are a programming error at the first `Firestore.firestore()`, unless the environment has one. Every operation reports an impossible
  ///   id with `invalidArgument`. Configuring the default app twice is a programming error.
  public class func configure(options: FirebaseOptions) {
    configure(name: defaultName, options: options)
  }

  /// Configures another app.
  ///
  /// - Parameters:
  ///   - name: Letters, digits, `-` and `_` of ASCII, at least one (firebase-ios-sdk FIRApp.m, configureWithName, also takes letters
  ///     of other scripts); anything else, and the name of an app that is configured already, is a programming error.
  ///     `"__FIRAPP_DEFAULT"` is the default app's name.
  ///   - options: As for ``configure(options:)``.
  public class func configure(name: String, options: FirebaseOptions) {
    requireValid { () throws(ProgrammingError) in try register(name: name, options: options) }
  }

  /// The default app, or nil before it is configured.
  public class func app() -> FirebaseApp? { app(name: defaultName) }

  /// The app of this name, or nil before it is configured.
  public class func app(name: String) -> FirebaseApp? { apps.withLock { $0[name] } }

  /// All configured apps by name, or nil if there are none.
  public class var allApps: [String: FirebaseApp]? { apps.withLock { $0.isEmpty ? nil : $0 } }

  /// Terminates the app's Firestore objects and forgets the app. The contents of the cache stay.
  ///
  /// - Parameter completion: Called on the main queue when everything is closed, with true if the app was still known and all writes were
  ///   saved. False, with a line in the log for each object, if writes could not be saved because another process holds the cache. To get
  ///   the error itself, terminate the objects first (``Firestore/terminate()``).
  public func delete(_ completion: @escaping (Bool) -> Void) {
    let completion = UncheckedSendableBox(completion)
    close { existed in
      DispatchQueue.main.async { completion.value(existed) }
    }
  }

  /// Terminates the app's Firestore objects and forgets the app. The contents of the cache stay.
  ///
  /// - Returns: True if the app was still known and all writes were saved. False, with a line in the log for each object, if writes could
  ///   not be saved because another process holds the cache. To get the error itself, terminate the objects first
  ///   (``Firestore/terminate()``).
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
    Firestore.terminateAll(of: self) { completion(existed && $0) }
  }

  static func register(name: String, options: FirebaseOptions) throws(ProgrammingError) {
    guard !name.isEmpty else { throw ProgrammingError("App name cannot be empty.") }
    guard name.utf8.allSatisfy(isNameByte) else {
      throw ProgrammingError(
        """
        App name "\(name)" can only contain alphanumeric (A-Z,a-z,0-9), hyphen (-), and underscore (_) characters.
        """)
    }
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

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default:
      false
    }
  }
}

extension FirebaseOptions {
  fileprivate func snapshot() -> FirebaseOptions {
    copy() as? FirebaseOptions ?? self
  }
}
