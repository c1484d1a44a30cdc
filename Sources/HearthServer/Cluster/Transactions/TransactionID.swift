#if PostgreSQL
  internal import Crypto
  internal import HearthModel

  /// The id of a transaction: what any node must know of it without asking, and a code that only nodes of the cluster can compute.
  struct TransactionID: Hashable, Sendable {
    var isolation: TransactionIsolation
    /// When it has begun, in microseconds since 1970.
    var begin: Int64
    /// The era in which it was begun, see ``TransactionEra``. What it has read may be lost after that.
    var era: Int64
    /// The version that a read-only transaction was begun at; none if its first read fixes it.
    var version: SnapshotVersion
    /// Drawn at random.
    var number: UInt64

    private static let codeLength = 16
    private static let length = 1 + 4 * 8 + codeLength

    /// - Parameter place: The database, see ``ClusterNames/placeHash(_:)``: the id is good in no other.
    func bytes(in place: [UInt8], secret: [UInt8]) -> [UInt8] {
      let numbers = [
        UInt64(bitPattern: begin), UInt64(bitPattern: era), UInt64(bitPattern: version.microseconds), number,
      ]
      let contents = [isolation.format] + numbers.flatMap(Self.bigEndian)
      return contents + Self.code(of: contents, in: place, secret)
    }

    /// - Throws: INVALID_ARGUMENT for bytes that are no id of a transaction in this database.
    init(_ bytes: [UInt8], in place: [UInt8], secret: [UInt8]) throws(StatusError) {
      let contents = Array(bytes.dropLast(Self.codeLength))
      guard bytes.count == Self.length, let isolation = TransactionIsolation(format: bytes[0]),
        Self.code(of: contents, in: place, secret) == Array(bytes.suffix(Self.codeLength))
      else { throw StatusError(code: .invalidArgument, message: "Invalid transaction.") }
      func number(_ index: Int) -> UInt64 {
        contents[(1 + 8 * index)..<(9 + 8 * index)].reduce(0) { $0 << 8 | UInt64($1) }
      }
      self.init(
        isolation: isolation, begin: Int64(bitPattern: number(0)), era: Int64(bitPattern: number(1)),
        version: SnapshotVersion(microseconds: Int64(bitPattern: number(2))), number: number(3))
    }

    init(isolation: TransactionIsolation, begin: Int64, era: Int64, version: SnapshotVersion, number: UInt64) {
      self.isolation = isolation
      self.begin = begin
      self.era = era
      self.version = version
      self.number = number
    }

    /// The era of a transaction whose id was read from a table of the cluster; nil for bytes that are no id.
    static func era(of id: [UInt8]) -> Int64? {
      guard id.count == length else { return nil }
      return Int64(bitPattern: id[9..<17].reduce(0) { $0 << 8 | UInt64($1) })
    }

    private static func code(of contents: [UInt8], in place: [UInt8], _ secret: [UInt8]) -> [UInt8] {
      let code = HMAC<SHA256>.authenticationCode(for: contents + place, using: SymmetricKey(data: secret))
      return Array(code.prefix(codeLength))
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
  }

  extension TransactionIsolation {
    /// In ids, and in `hearth_transactions`.
    var format: UInt8 {
      switch self {
      case .readOnly: 1
      case .optimistic: 2
      case .pessimistic: 3
      }
    }

    fileprivate init?(format: UInt8) {
      switch format {
      case 1: self = .readOnly
      case 2: self = .optimistic
      case 3: self = .pessimistic
      default: return nil
      }
    }
  }
#endif
