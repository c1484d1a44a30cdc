import Hearth

/// The ways in which applications tell errors apart. Each gives the code's name as the application would find it, and has to work
/// for every error that the library delivers, in both language modes and on every platform.
enum ErrorShapes {
  static func all(_ error: any Error) -> [String: String] {
    [
      "catch a code": catchCode(error), "catch the type": catchType(error), "catch NSError": catchNSError(error),
      "switch over codes": switchOverCodes(error), "switch over the type": switchOverType(error),
      "cast and compare": castAndCompare(error), "raw value": rawValue(error), "numbers": numbers(error),
      "optional": optional(error), "result": result(error), "object": object(error), "some Error": generic(error),
    ]
  }

  static func catchCode(_ error: any Error) -> String {
    do {
      throw error
    } catch FirestoreErrorCode.unavailable {
      return "unavailable"
    } catch FirestoreErrorCode.invalidArgument {
      return "invalidArgument"
    } catch FirestoreErrorCode.failedPrecondition, FirestoreErrorCode.unimplemented {
      return name((error as NSError).code)
    } catch FirestoreErrorCode.unknown {
      return "unknown"
    } catch {
      return "other"
    }
  }

  static func catchType(_ error: any Error) -> String {
    do {
      throw error
    } catch let error as FirestoreErrorCode where error.code == .unavailable {
      return "unavailable"
    } catch let error as FirestoreErrorCode {
      return name(error.code.rawValue)
    } catch {
      return "other"
    }
  }

  static func catchNSError(_ error: any Error) -> String {
    do {
      throw error
    } catch let error as NSError where error.domain == FirestoreErrorDomain {
      return name(error.code)
    } catch {
      return "other"
    }
  }

  static func switchOverCodes(_ error: any Error) -> String {
    switch error {
    case FirestoreErrorCode.invalidArgument: return "invalidArgument"
    case FirestoreErrorCode.failedPrecondition: return "failedPrecondition"
    case FirestoreErrorCode.unimplemented: return "unimplemented"
    case FirestoreErrorCode.unavailable: return "unavailable"
    case FirestoreErrorCode.unknown: return "unknown"
    default: return "other"
    }
  }

  static func switchOverType(_ error: any Error) -> String {
    guard let error = error as? FirestoreErrorCode else { return "other" }
    switch error.code {
    case .invalidArgument: return "invalidArgument"
    case .failedPrecondition: return "failedPrecondition"
    case .unimplemented: return "unimplemented"
    case .unavailable: return "unavailable"
    case .unknown: return "unknown"
    default: return "another code"
    }
  }

  static func castAndCompare(_ error: any Error) -> String {
    let codes: [FirestoreErrorCode.Code] = [
      .invalidArgument, .failedPrecondition, .unimplemented, .unavailable, .unknown,
    ]
    return codes.first { (error as? FirestoreErrorCode)?.code == $0 }.map { name($0.rawValue) } ?? "other"
  }

  static func rawValue(_ error: any Error) -> String {
    let error = error as NSError
    guard error.domain == FirestoreErrorDomain, let code = FirestoreErrorCode.Code(rawValue: error.code) else {
      return "other"
    }
    if error.code == FirestoreErrorCode.unavailable.rawValue { return "unavailable" }
    return name(code.rawValue)
  }

  static func numbers(_ error: any Error) -> String {
    error._domain == "FIRFirestoreErrorDomain" ? name(error._code) : "other"
  }

  static func optional(_ error: (any Error)?) -> String {
    guard error != nil else { return "none" }
    if let error = error as NSError?, error.domain == FirestoreErrorDomain { return name(error.code) }
    return "other"
  }

  static func result(_ error: any Error) -> String {
    let result: Result<Int, any Error> = .failure(error)
    switch result {
    case .success: return "success"
    case .failure(let error as FirestoreErrorCode): return name(error.errorCode)
    case .failure: return "other"
    }
  }

  static func object(_ error: any Error) -> String {
    guard let error = error as? FirestoreErrorCode else { return "other" }
    let again = FirestoreErrorCode(_nsError: error as NSError)
    return again == error && again._nsError.isEqual(error._nsError) ? name(again.code.rawValue) : "changed"
  }

  static func generic<Failure: Error>(_ error: Failure) -> String {
    (error as? FirestoreErrorCode).map { name($0.code.rawValue) } ?? "other"
  }

  static func name(_ code: Int) -> String {
    guard let code = FirestoreErrorCode.Code(rawValue: code) else { return "no code" }
    return "\(code)"
  }
}
