internal import Foundation

/// The files of ``FirestoreSettings/trustedCertificateFiles``.
enum TrustedCertificates {
  /// - Throws: An `NSError` that names the file: `failedPrecondition` when it cannot be read, `invalidArgument` when there is no
  ///   certificate in it.
  static func check(_ paths: [String]) throws {
    for path in paths {
      let content: Data
      do {
        content = try Data(contentsOf: URL(fileURLWithPath: path))
      } catch {
        throw NSError.firestore(
          .failedPrecondition,
          "Trusted certificate file \"\(path)\" cannot be read: \((error as NSError).localizedDescription)")
      }
      guard content.range(of: Data("-----BEGIN CERTIFICATE-----".utf8)) != nil else {
        throw NSError.firestore(
          .invalidArgument,
          "Trusted certificate file \"\(path)\" has no certificate in PEM form (\"-----BEGIN CERTIFICATE-----\" is missing)."
        )
      }
    }
  }
}
