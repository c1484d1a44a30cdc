internal import HearthModel
internal import NIOCore

/// `grpc.health.v1.Health` (https://github.com/grpc/grpc/blob/master/doc/health-checking.md).
///
/// The server as a whole (the empty name) and its services are SERVING while it is available, and NOT_SERVING while it is not and from the
/// moment on at which it begins to shut down.
package struct HealthService: Sendable {
  package static let name = "grpc.health.v1.Health"

  /// `HealthCheckResponse.ServingStatus`.
  private enum Status: Int64 {
    case serving = 1
    case notServing = 2
    case serviceUnknown = 3
  }

  private let services: [String]
  private let stopping: ShutdownSignal
  private let availability: Availability

  package init(services: [String], stopping: ShutdownSignal, availability: Availability = Availability()) {
    self.services = ["", Self.name] + services
    self.stopping = stopping
    self.availability = availability
  }

  package var methods: [CallMethod] {
    [.encoded("Check", .oneRequest, check), .encoded("List", .oneRequest, list), .encoded("Watch", .oneRequest, watch)]
  }

  private var present: Status { !stopping.isTriggered && availability.isAvailable ? .serving : .notServing }

  private func check(_ call: ServerCall, _ message: ByteBuffer) async throws {
    let service = try Self.service(message)
    guard services.contains(service) else {
      throw StatusError(code: .notFound, message: "The service \"\(service)\" is not served.")
    }
    try await call.send(Self.response(present), isHeldBack: true)
  }

  private func list(_ call: ServerCall, _ message: ByteBuffer) async throws {
    var response = WireWriter()
    for service in services {
      response.writeMessage(field: 1) { entry in
        entry.writeString(service, field: 1)
        entry.writeBytes(Self.response(present), field: 2)
      }
    }
    try await call.send(response.bytes, isHeldBack: true)
  }

  /// Sends the status now and when it changes.
  private func watch(_ call: ServerCall, _ message: ByteBuffer) async throws {
    let isKnown = services.contains(try Self.service(message))
    if isKnown {
      try await sendChanges(call)
    } else {
      try await call.send(Self.response(.serviceUnknown), isHeldBack: false)
      await stopping.wait()
    }
    throw StatusError.shuttingDown
  }

  /// Sends the status now and whenever it has changed, until the server begins to shut down.
  private func sendChanges(_ call: ServerCall) async throws {
    var isAvailable = availability.isAvailable
    try await call.send(Self.response(present), isHeldBack: false)
    while !stopping.isTriggered {
      await withTaskGroup(of: Void.self) { [stopping, availability, isAvailable] group in
        group.addTask { await stopping.wait() }
        group.addTask { await availability.change(from: isAvailable) }
        await group.next()
        group.cancelAll()
      }
      try Task.checkCancellation()
      isAvailable = availability.isAvailable
      try await call.send(Self.response(present), isHeldBack: false)
    }
  }

  /// `HealthCheckRequest.service`.
  private static func service(_ message: ByteBuffer) throws -> String {
    try message.withUnsafeReadableBytes { bytes in
      var (reader, service) = (WireReader(bytes), "")
      while let tag = try reader.readTag("HealthCheckRequest") {
        if tag == WireTag(field: 1, type: .lengthDelimited) {
          service = try reader.readString("HealthCheckRequest.service")
        } else {
          try reader.skip(tag, "HealthCheckRequest")
        }
      }
      return service
    }
  }

  private static func response(_ status: Status) -> [UInt8] {
    var writer = WireWriter()
    writer.writeVarint(status.rawValue, field: 1)
    return writer.bytes
  }
}
