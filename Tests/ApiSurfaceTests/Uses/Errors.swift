import Hearth

// section: Errors

func useErrors(data: [String: Any], error: any Error) {
  // row: let FirestoreErrorDomain: String
  let _: String = FirestoreErrorDomain
  // row: struct FirestoreErrorCode: Error, CustomNSError
  let code = FirestoreErrorCode(.notFound)
  let _: any CustomNSError = FirestoreErrorCode(.notFound, userInfo: data)
  let _: FirestoreErrorCode.Code = code.code
  let _: [String: Any] = code.errorUserInfo
  // row: enum FirestoreErrorCode.Code: Int
  let codes: [FirestoreErrorCode.Code] = [
    .OK, .cancelled, .unknown, .invalidArgument, .deadlineExceeded, .notFound, .alreadyExists, .permissionDenied,
    .resourceExhausted, .failedPrecondition, .aborted, .outOfRange, .unimplemented, .internal, .unavailable, .dataLoss,
    .unauthenticated, .ok,
  ]
  let _: [Int] = codes.map(\.rawValue)
  // row: static var FirestoreErrorCode.<case>: Code
  let _: [FirestoreErrorCode.Code] = [
    FirestoreErrorCode.OK, FirestoreErrorCode.cancelled, FirestoreErrorCode.unknown, FirestoreErrorCode.invalidArgument,
    FirestoreErrorCode.deadlineExceeded, FirestoreErrorCode.notFound, FirestoreErrorCode.alreadyExists,
    FirestoreErrorCode.permissionDenied, FirestoreErrorCode.resourceExhausted, FirestoreErrorCode.failedPrecondition,
    FirestoreErrorCode.aborted, FirestoreErrorCode.outOfRange, FirestoreErrorCode.unimplemented,
    FirestoreErrorCode.internal, FirestoreErrorCode.unavailable, FirestoreErrorCode.dataLoss,
    FirestoreErrorCode.unauthenticated,
  ]
  let _: Int = FirestoreErrorCode.unavailable.rawValue
  // row: static func ~= (code: FirestoreErrorCode.Code, error: any Error) -> Bool
  switch error {
  case FirestoreErrorCode.unavailable: break
  default: break
  }
  let _: Bool = FirestoreErrorCode.Code.notFound ~= error
}

func useErrorsAsync(document: DocumentReference) async throws {
  // row: thrown values
  do {
    try await document.getDocument()
  } catch let error as NSError {
    let _: (String, Int) = (error.domain, error.code)
  }
}
