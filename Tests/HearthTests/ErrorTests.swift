import Foundation
import Hearth
import Testing

@Suite("Errors")
struct ErrorTests {
  @Test("errors of the domain match their code in catch and switch")
  func patterns() {
    let error: any Error = NSError(
      domain: FirestoreErrorDomain, code: FirestoreErrorCode.unavailable.rawValue,
      userInfo: [NSLocalizedDescriptionKey: "offline"])
    var matched = false
    switch error {
    case FirestoreErrorCode.notFound: break
    case FirestoreErrorCode.unavailable: matched = true
    default: break
    }
    #expect(matched)
    #expect(!(FirestoreErrorCode.Code.unavailable ~= (CancellationError() as any Error)))
  }

  @Test("a code used as an error carries domain, number and user info")
  func codeAsError() {
    let error = FirestoreErrorCode(.aborted, userInfo: [NSLocalizedDescriptionKey: "why"]) as NSError
    #expect(error.domain == "FIRFirestoreErrorDomain")
    #expect(error.code == 10)
    #expect(error.localizedDescription == "why")
  }
}
