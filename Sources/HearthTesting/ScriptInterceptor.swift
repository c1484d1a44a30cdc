internal import HearthModel
internal import HearthRPC
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
///
/// The script decides on a request when the backend has answered those before it on the same stream. So the error of a refused write finds
/// that write as the oldest one without an answer, which is the one that a client takes it for.
private struct ScriptedCall: CallTap {
  let script: Script
  let call: InterceptedCall
  let number: Int
  let listens = WaitingListens()

  func request(_ message: any Message) async throws -> Bool {
    if let request = message as? Google_Firestore_V1_ListenRequest { return try await listen(request) }
    guard let contents = RequestContents.of(message) else { return true }
    await script.wait(for: contents)
    try Task.checkCancellation()
    if let refusal = try script.decide(contents, of: number, isLast: !call.isStream) { throw refusal.error }
    return true
  }

  // MARK: - Listeners

  /// One that waits keeps no others of the stream waiting: each is of a target of its own.
  private func listen(_ request: Google_Firestore_V1_ListenRequest) async throws -> Bool {
    guard let contents = RequestContents.of(request), let target = contents.targetID else {
      // The backend gets the removal behind what it removes.
      if case .removeTarget(let target)? = request.targetChange { await listens.letGo(target) }
      return true
    }
    guard script.waits(contents) else { return try await admits(contents, target) }
    listens.add(target) {
      await script.wait(for: contents)
      // The client has removed it: a failure of the script is meant for one that is still wanted. The backend answers it and the removal.
      if Task.isCancelled {
        try? call.deliver(request)
        return
      }
      // It throws if the call has ended, and then nobody waits for it.
      if let isAdmitted = try? await admits(contents, target), isAdmitted { try? call.deliver(request) }
    }
    return false
  }

  private func admits(_ contents: RequestContents, _ target: Int32) async throws -> Bool {
    guard let refusal = try script.decide(contents, of: number, isLast: false) else { return true }
    do {
      try await call.answer(Self.removal(of: target, refusal.error))
    } catch {
      script.takeBack(refusal)
      throw error
    }
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

  func ended() {
    script.ended(number)
    listens.end()
  }
}
