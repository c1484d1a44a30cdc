internal import Crypto

/// Binds what the server hands out to the caller that gets it: the ids of transactions, and page tokens.
///
/// A sealed text ends in a code that only this process, or the servers of the same cluster, can compute from the rest and the caller. The
/// owner's are not sealed: the owner may do with any of them what it may do without. After a restart of a process that is alone, page tokens
/// of other callers are not valid any more.
final class CallerSeal: Sendable {
  enum Purpose: String {
    case transaction
    case page
  }

  private static let codeLength = 16

  private let key: SymmetricKey

  /// - Parameter secret: That of the cluster; nil for a process that is alone.
  init(secret: [UInt8]? = nil) {
    key =
      secret.map { secret in
        let code = HMAC<SHA256>.authenticationCode(for: Array("caller seal".utf8), using: SymmetricKey(data: secret))
        return SymmetricKey(data: code)
      } ?? SymmetricKey(size: .bits256)
  }

  func seal(_ bytes: [UInt8], _ purpose: Purpose, for caller: Caller) -> [UInt8] {
    if case .owner = caller { return bytes }
    return bytes + code(of: bytes, purpose, caller)
  }

  /// - Returns: The bytes that were sealed; nil for those of another caller, or for another purpose.
  func open(_ sealed: [UInt8], _ purpose: Purpose, for caller: Caller) -> [UInt8]? {
    if case .owner = caller { return sealed }
    guard sealed.count >= Self.codeLength else { return nil }
    let bytes = Array(sealed.dropLast(Self.codeLength))
    var difference: UInt8 = 0
    for (given, own) in zip(sealed.suffix(Self.codeLength), code(of: bytes, purpose, caller)) {
      difference |= given ^ own
    }
    return difference == 0 ? bytes : nil
  }

  private func code(of bytes: [UInt8], _ purpose: Purpose, _ caller: Caller) -> [UInt8] {
    var code = HMAC<SHA256>(key: key)
    // The lengths keep the parts apart.
    let bound = Array(caller.boundTo.utf8)
    code.update(data: Array("\(purpose.rawValue) \(bound.count) ".utf8))
    code.update(data: bound)
    code.update(data: bytes)
    return Array(code.finalize().prefix(Self.codeLength))
  }
}
