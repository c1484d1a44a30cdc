/// The identity that owns an outbox. A write is only sent with the identity that made it.
///
/// | | ``name`` | key in the file | in words |
/// |---|---|---|---|
/// | ``nobody`` | nil | empty | (signed out) |
/// | ``user(_:)`` | its id | `=` and its id | its id |
/// | ``serviceAccount(_:)`` | U+0001 and the key | `service-account:` and its e-mail address | (service account EMAIL) |
/// | ``emulatorOwner`` | U+0001 and the key | `emulator:owner` | (emulator owner) |
/// | ``application(_:)`` | U+0001 and the key | `credentials:` and its name | (credentials NAME) |
///
/// Only the keys of users begin with `=`, so no user id, whatever its characters, gets the outbox of another kind. A user id that begins
/// with U+0001 is named like the other kinds, by U+0001 and its key, so different keys have different names.
package enum OutboxOwner: Hashable, Sendable {
  /// Requests without credentials.
  case nobody
  /// The user of an ID token.
  case user(String)
  /// A service account, by its e-mail address.
  case serviceAccount(String)
  /// The owner of an emulator's data.
  case emulatorOwner
  /// Credentials of the application's own, by the name that it gives them.
  case application(String)

  private static let mark = "\u{1}"

  private enum Prefix {
    static let user = "="
    static let serviceAccount = "service-account:"
    static let emulatorOwner = "emulator:owner"
    static let application = "credentials:"
  }

  /// The name of the identity everywhere between the credentials and the file; nil for nobody.
  package var name: String? {
    switch self {
    case .nobody: nil
    case .user(let id) where id.utf8.first != Self.mark.utf8.first: id
    case .user, .serviceAccount, .emulatorOwner, .application: Self.mark + key
    }
  }

  /// - Parameter name: A ``name``.
  package init(name: String?) {
    self.init(key: Self.key(ofName: name))
  }

  /// The key of an identity in the file.
  var key: String {
    switch self {
    case .nobody: ""
    case .user(let id): Prefix.user + id
    case .serviceAccount(let address): Prefix.serviceAccount + address
    case .emulatorOwner: Prefix.emulatorOwner
    case .application(let name): Prefix.application + name
    }
  }

  /// True for what can be the key of an identity, also of a kind that only a later release knows: lowercase letters and hyphens before a
  /// colon.
  static func isKey(_ text: String) -> Bool {
    let utf8 = text.utf8
    guard let first = utf8.first, first != UInt8(ascii: "=") else { return true }
    let kind = utf8.prefix { $0 != UInt8(ascii: ":") }
    return kind.count < utf8.count && !kind.isEmpty
      && kind.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") }
  }

  /// As ``isKey(_:)``, in SQL and negated, for the column `user_key`.
  static let isNoKey = """
    typeof(user_key) <> 'text' OR (user_key <> '' AND substr(user_key, 1, 1) <> '='
      AND (instr(user_key, ':') < 2 OR substr(user_key, 1, instr(user_key, ':') - 1) GLOB '*[^a-z-]*'))
    """

  /// - Parameter key: A ``key``. One of a kind that only a later release knows counts as the application's own.
  init(key: String) {
    func rest(after prefix: String) -> String? {
      key.utf8.starts(with: prefix.utf8) ? String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
    }
    if key.isEmpty {
      self = .nobody
    } else if let id = rest(after: Prefix.user) {
      self = .user(id)
    } else if let address = rest(after: Prefix.serviceAccount) {
      self = .serviceAccount(address)
    } else if key.utf8.elementsEqual(Prefix.emulatorOwner.utf8) {
      self = .emulatorOwner
    } else {
      self = .application(rest(after: Prefix.application) ?? key)
    }
  }

  static func key(ofName name: String?) -> String {
    guard let name else { return "" }
    guard name.utf8.first == mark.utf8.first else { return Prefix.user + name }
    return String(decoding: name.utf8.dropFirst(), as: UTF8.self)
  }

  /// The id of a user; nil for all others.
  package var userID: String? { if case .user(let id) = self { id } else { nil } }

  /// The identity as tables show it. Any name that is not a user id stands in parentheses.
  package var inWords: String {
    switch self {
    case .nobody: "(signed out)"
    case .user(let id): id
    case .serviceAccount(let address): "(service account \(address))"
    case .emulatorOwner: "(emulator owner)"
    case .application(let name): "(credentials \(name))"
    }
  }
}

extension OutboxOwner? {
  /// As ``OutboxOwner/inWords``, also where it is not known who the owner is.
  package var inWords: String { self?.inWords ?? "(unknown)" }
}
