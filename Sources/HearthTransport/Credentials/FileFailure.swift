internal import Foundation

/// The reason why the system does not let a file be used, in words.
package enum FileFailure {
  /// Continues the sentence "the file cannot be read:", and ends without a full stop.
  ///
  /// Foundation on Linux says "The operation could not be completed" of all of them; the error of the system below it says why.
  package static func reason(_ error: any Error) -> String {
    let whole = error as NSError
    // A cast to NSError fails for errors that Foundation itself makes on Linux.
    let error = (whole.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? whole
    if error.domain == NSPOSIXErrorDomain { return String(cString: strerror(Int32(error.code))) }
    let sentence = whole.localizedDescription
    return sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
  }
}
