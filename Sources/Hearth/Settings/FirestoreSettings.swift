public import Dispatch
public import Foundation
internal import HearthCache

/// The settings of a Firestore object: the backend, the queue of callbacks, and the cache.
///
/// Assign settings before the first use. They are checked and copied when they are assigned:
///
/// ```swift
/// let settings = Firestore.firestore().settings
/// settings.cacheSettings = MemoryCacheSettings()
/// Firestore.firestore().settings = settings
/// ```
open class FirestoreSettings: NSObject, NSCopying {
  /// Cloud Firestore's address.
  static let defaultHost = "firestore.googleapis.com"

  /// The backend as `host` or `host:port`; IPv6 addresses in brackets. Default: `firestore.googleapis.com`. Without a port, 443
  /// is used with TLS and 80 without. Empty or malformed is a programming error when the settings are assigned.
  ///
  /// While this is the default, the environment variable `FIRESTORE_EMULATOR_HOST` (`host:port`) replaces it, without TLS.
  public var host = FirestoreSettings.defaultHost

  /// True if the connection is encrypted with TLS. Default: true. False with the default host is a programming error when the settings are
  /// assigned.
  public var isSSLEnabled = true

  /// The queue of all completions and listeners. They run one after the other even if the queue is concurrent. Default: the main queue. A
  /// program without a main loop has to run that queue (`dispatchMain()`, `RunLoop.main.run()`). The `async` forms do not need it.
  public var dispatchQueue: DispatchQueue = .main

  /// True if the cache survives a restart. Default: true. Without persistence the cache is a memory cache with ``MemoryLRUGCSettings`` of
  /// `cacheSizeBytes`.
  @available(*, deprecated, message: "Use cacheSettings with PersistentCacheSettings or MemoryCacheSettings instead.")
  public var isPersistenceEnabled: Bool {
    get { legacyPersistenceEnabled }
    set { legacyPersistenceEnabled = newValue }
  }

  /// The size in bytes above which the least recently used documents are removed. Default: 100 MiB. Less than 1 MiB is a programming error,
  /// except ``FirestoreCacheSizeUnlimited``.
  @available(*, deprecated, message: "Use cacheSettings with PersistentCacheSettings(sizeBytes:) instead.")
  public var cacheSizeBytes: Int64 {
    get { legacyCacheSizeBytes }
    set {
      requireValid { () throws(ProgrammingError) in try CacheSize.validate(newValue) }
      legacyCacheSizeBytes = newValue
    }
  }

  /// The kind, place and size of the cache. Default: ``PersistentCacheSettings`` of 100 MiB; the last assignment wins.
  ///
  /// Together with a changed `isPersistenceEnabled` or `cacheSizeBytes` this is a programming error when the settings are
  /// assigned to `Firestore.settings`.
  public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
    get { explicitCacheSettings ?? PersistentCacheSettings() }
    set { explicitCacheSettings = newValue }
  }

  /// The identity of requests. Default: nil. If the backend is Google's over TLS, nil means the service account of the file that the
  /// environment variable `GOOGLE_APPLICATION_CREDENTIALS` names; otherwise it means no credentials.
  public var credentials: (any FirestoreCredentials)?

  /// The source of App Check tokens. Default: nil, for none.
  public var appCheck: FirestoreAppCheck?

  /// PEM files with the certificates of the authorities to trust, instead of the system's. Default: empty, which means the system's
  /// authorities.
  ///
  /// For gateways and servers with a certificate of a private authority. Certificates and host names are always verified; no setting
  /// switches that off. A file that cannot be read is reported by every operation.
  public var trustedCertificateFiles: [String] = []

  /// The treatment of refused writes: how many are kept, and when a write that blocks the others is moved out of the way.
  public var outbox = OutboxSettings()

  /// The documents whose pending writes are compared with writes of others, and how conflicts are resolved. Default: none; the last write
  /// wins.
  public var conflictRules: [ConflictRule] = []

  private var legacyPersistenceEnabled = true
  private var legacyCacheSizeBytes = CacheSize.defaultBytes
  private var explicitCacheSettings: (any LocalCacheSettings & NSObjectProtocol)?

  /// Makes settings with all defaults.
  public override init() {}

  /// Makes settings with values that were checked before.
  init(_ values: SettingsValues) {
    host = values.host
    isSSLEnabled = values.isSSLEnabled
    dispatchQueue = values.dispatchQueue
    legacyPersistenceEnabled = values.legacyPersistenceEnabled
    legacyCacheSizeBytes = values.legacyCacheSizeBytes
    explicitCacheSettings = values.explicitCache?.settings
    credentials = values.credentials
    appCheck = values.appCheck
    trustedCertificateFiles = values.trustedCertificateFiles
    outbox = values.outbox
    conflictRules = values.conflictRules
  }

  /// A copy with the same values, which can be changed independently.
  open func copy(with zone: NSZone? = nil) -> Any {
    let copy = FirestoreSettings()
    copy.host = host
    copy.isSSLEnabled = isSSLEnabled
    copy.dispatchQueue = dispatchQueue
    copy.legacyPersistenceEnabled = legacyPersistenceEnabled
    copy.legacyCacheSizeBytes = legacyCacheSizeBytes
    copy.explicitCacheSettings = explicitCacheSettings
    copy.credentials = credentials
    copy.appCheck = appCheck
    copy.trustedCertificateFiles = trustedCertificateFiles
    copy.outbox = outbox
    copy.conflictRules = conflictRules
    return copy
  }

  /// Two settings are equal when all their values are; credentials and resolvers of the program are compared by identity.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirestoreSettings else { return false }
    return host == other.host && isSSLEnabled == other.isSSLEnabled && dispatchQueue.isSame(as: other.dispatchQueue)
      && legacyPersistenceEnabled == other.legacyPersistenceEnabled
      && legacyCacheSizeBytes == other.legacyCacheSizeBytes && isCacheEqual(to: other)
      && credentials === other.credentials && appCheck === other.appCheck
      && trustedCertificateFiles == other.trustedCertificateFiles && outbox == other.outbox
      && conflictRules == other.conflictRules
  }

  private func isCacheEqual(to other: FirestoreSettings) -> Bool {
    switch (explicitCacheSettings, other.explicitCacheSettings) {
    case (nil, nil): true
    case (let own?, let others?): own.isEqual(others)
    default: false
    }
  }

  /// A hash of the values.
  open override var hash: Int {
    var hasher = Hasher()
    hasher.combine(host)
    hasher.combine(isSSLEnabled)
    hasher.combine(legacyPersistenceEnabled)
    hasher.combine(legacyCacheSizeBytes)
    hasher.combine(explicitCacheSettings?.hash)
    return hasher.finalize()
  }

  /// The checked values.
  func values() throws(ProgrammingError) -> SettingsValues {
    guard !host.isEmpty else {
      throw ProgrammingError(
        "Host setting may not be empty. You should generally just use the default value "
          + "(which is \(FirestoreSettings.defaultHost)).")
    }
    guard isSSLEnabled || host != FirestoreSettings.defaultHost else {
      throw ProgrammingError(
        "You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.")
    }
    _ = try Endpoint(host: host, usesTLS: isSSLEnabled)
    if explicitCacheSettings != nil,
      !legacyPersistenceEnabled || legacyCacheSizeBytes != CacheSize.defaultBytes
    {
      throw ProgrammingError(
        "Firestore settings: cacheSettings cannot be combined with isPersistenceEnabled or cacheSizeBytes; "
          + "use cacheSettings alone.")
    }
    return SettingsValues(
      host: host, isSSLEnabled: isSSLEnabled, dispatchQueue: dispatchQueue,
      legacyPersistenceEnabled: legacyPersistenceEnabled, legacyCacheSizeBytes: legacyCacheSizeBytes,
      explicitCache: try explicitCacheSettings.map(SettingsValues.Cache.init), credentials: credentials,
      appCheck: appCheck, trustedCertificateFiles: trustedCertificateFiles, outbox: outbox,
      conflictRules: conflictRules)
  }
}

/// ``FirestoreSettings`` as an immutable value.
struct SettingsValues: Equatable, Sendable {
  enum Cache: Equatable, Sendable {
    case persistent(PersistentCacheSettings)
    case memory(MemoryCollector)

    init(_ settings: any LocalCacheSettings) throws(ProgrammingError) {
      switch settings {
      case let settings as PersistentCacheSettings: self = .persistent(settings)
      case let settings as MemoryCacheSettings: self = .memory(settings.collector)
      default: throw ProgrammingError("Unsupported cache settings: \(type(of: settings)).")
      }
    }

    var settings: any LocalCacheSettings & NSObjectProtocol {
      switch self {
      case .persistent(let settings): settings
      case .memory(.eager): MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
      case .memory(.leastRecentlyUsed(let bytes)):
        MemoryCacheSettings(
          garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: NSNumber(value: bytes)))
      }
    }
  }

  var host = FirestoreSettings.defaultHost
  var isSSLEnabled = true
  var dispatchQueue: DispatchQueue = .main
  var legacyPersistenceEnabled = true
  var legacyCacheSizeBytes = CacheSize.defaultBytes
  var explicitCache: Cache?
  var credentials: (any FirestoreCredentials)?
  var appCheck: FirestoreAppCheck?
  var trustedCertificateFiles: [String] = []
  var outbox = OutboxSettings()
  var conflictRules: [ConflictRule] = []

  static func == (a: SettingsValues, b: SettingsValues) -> Bool {
    a.host == b.host && a.isSSLEnabled == b.isSSLEnabled && a.dispatchQueue.isSame(as: b.dispatchQueue)
      && a.legacyPersistenceEnabled == b.legacyPersistenceEnabled
      && a.legacyCacheSizeBytes == b.legacyCacheSizeBytes && a.explicitCache == b.explicitCache
      && a.credentials === b.credentials && a.appCheck === b.appCheck
      && a.trustedCertificateFiles == b.trustedCertificateFiles && a.outbox == b.outbox
      && a.conflictRules == b.conflictRules
  }

  /// The effective cache, whichever properties set it.
  var cache: Cache {
    if let explicitCache { return explicitCache }
    if legacyPersistenceEnabled {
      return .persistent(PersistentCacheSettings(sizeBytes: NSNumber(value: legacyCacheSizeBytes)))
    }
    return .memory(.leastRecentlyUsed(sizeBytes: legacyCacheSizeBytes))
  }

  var cacheSharing: CacheSharing {
    if case .persistent(let settings) = cache { settings.processes.sharing } else { .alone }
  }

  /// The effective address: while the host is the default one, `FIRESTORE_EMULATOR_HOST` replaces it, without TLS.
  func endpoint(environment: [String: String]) throws(ProgrammingError) -> Endpoint {
    if host == FirestoreSettings.defaultHost, let emulator = environment["FIRESTORE_EMULATOR_HOST"], !emulator.isEmpty {
      do {
        return try Endpoint(host: emulator, usesTLS: false)
      } catch {
        throw ProgrammingError("Environment variable FIRESTORE_EMULATOR_HOST: \(error.message)")
      }
    }
    return try Endpoint(host: host, usesTLS: isSSLEnabled)
  }
}

extension DispatchQueue {
  /// Returns whether both are one queue. Outside Apple platforms the system's own queues come in a new object each time they are asked
  /// for; their labels are theirs alone.
  fileprivate func isSame(as other: DispatchQueue) -> Bool {
    let isSystemQueue = label == "com.apple.main-thread" || label.hasPrefix("com.apple.root.")
    return self === other || isSystemQueue && label == other.label
  }
}

/// An address in the form that the transport takes.
struct Endpoint: Equatable, Sendable, CustomStringConvertible {
  var host: String
  var port: Int
  var usesTLS: Bool

  /// Parses `host`, `host:port`, `[v6]` and `[v6]:port`.
  init(host: String, usesTLS: Bool) throws(ProgrammingError) {
    var name = Substring(host)
    var portText: Substring?
    var forbidden = "/[] \t\n"
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
      name = host[host.index(after: host.startIndex)..<end]
      let rest = host[host.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else {
        throw ProgrammingError("Host \"\(host)\": after the bracketed address only \":port\" may follow.")
      }
      portText = rest.isEmpty ? nil : rest.dropFirst()
    } else if let colon = host.lastIndex(of: ":") {
      name = host[..<colon]
      portText = host[host.index(after: colon)...]
      forbidden += ":"
    }
    guard !name.isEmpty, !name.contains(where: forbidden.contains) else {
      throw ProgrammingError(
        """
        Host "\(host)" is not a host name or address with an optional port, such as "localhost:8080" or "[::1]:8080" \
        (no scheme, no path).
        """)
    }
    self.host = String(name)
    self.usesTLS = usesTLS
    if let portText {
      guard let port = Int(portText), (1...65_535).contains(port) else {
        throw ProgrammingError("Host \"\(host)\": the port \"\(portText)\" is not a number from 1 to 65535.")
      }
      self.port = port
    } else {
      port = usesTLS ? 443 : 80
    }
  }

  var description: String { "\(usesTLS ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}
