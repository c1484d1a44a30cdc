internal import Foundation

/// The reason why a server could not start or stopped by itself. The description names the cause and the remedy.
package struct ServerError: LocalizedError, Equatable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The configuration is not one that a server may have, whatever the state of the machine.
    case configuration
    /// The address cannot be listened on: it is in use, or not one of this machine.
    case address
    /// The data folder cannot be created, written or locked.
    case dataFolder
    /// The PostgreSQL server of a cluster cannot be used.
    case storage
    /// The file of declared indexes cannot be read.
    case indexes
    /// The file of security rules cannot be read, or has errors.
    case rules
    /// The files of the certificate cannot be used.
    case certificate
    /// The transport failed for another reason.
    case transport
  }

  package var kind: Kind
  var message: String

  /// - Parameter message: A sentence or more. One that ends with the sentence of another error has one full stop all the same.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
    while self.message.hasSuffix(".."), !self.message.hasSuffix("...") { self.message.removeLast() }
  }

  package var description: String { message }
  package var errorDescription: String? { message }
}
