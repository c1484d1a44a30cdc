internal import Foundation
internal import HearthTransport

/// The files of ``FirestoreSettings/trustedCertificateFiles``.
enum TrustedCertificates {
  /// - Throws: An `NSError` that names the file: `failedPrecondition` when it cannot be read, `invalidArgument` when there is no
  ///   certificate in it, or one that is damaged.
  static func check(_ paths: [String]) throws {
    for path in paths {
      do {
        try TrustedCertificateFile.check(path)
      } catch .unreadable(let reason) {
        throw NSError.firestore(.failedPrecondition, "Trusted certificate file \"\(path)\" cannot be read: \(reason)")
      } catch .content(let fault) {
        throw NSError.firestore(.invalidArgument, "Trusted certificate file \"\(path)\" \(fault).")
      }
    }
  }
}
