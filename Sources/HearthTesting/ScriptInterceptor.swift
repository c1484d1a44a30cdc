internal import HearthModel
internal import HearthServer
internal import HearthWire
internal import SwiftProtobuf

/// Lets calls go on as the script says. Calls of the owner of the data are left alone.
struct ScriptInterceptor: CallInterceptor {
  let script: Script

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    let isOwner = call.metadata["authorization"].contains { $0.lowercased() == "bearer owner" }
    if isOwner { return nil }
    let number = try script.began { call.end($0) }
    return ScriptedCall(script: script, call: call, number: number)
  }
}

/// One call: what the client sends goes to the backend when the script lets it.
private struct ScriptedCall: CallTap {
  let script: Script
  let call: InterceptedCall
  let number: Int

  func request(_ message: any Message) async throws -> Bool {
    guard let contents = RequestContents.of(message), let error = try await script.admit(contents) else { return true }
    guard let target = contents.targetID else { throw error }
    try await call.answer(Self.removal(of: target, error))
    return false
  }

  /// The backend's refusal of a listener.
  private static func removal(of target: Int32, _ error: StatusError) -> Google_Firestore_V1_ListenResponse {
    var change = Google_Firestore_V1_TargetChange()
    change.targetChangeType = .remove
    change.targetIds = [target]
    change.cause.code = Int32(error.code.rawValue)
    change.cause.message = error.message
    var response = Google_Firestore_V1_ListenResponse()
    response.targetChange = change
    return response
  }

  func response(_ message: any Message) async -> any Message { message }

  func ended() { script.ended(number) }
}
