#if PostgreSQL
  internal import Dispatch

  /// A session that hears the notifications of some channels (LISTEN), on a thread of its own, and is replaced when it is lost.
  package final class PostgresListener: Sendable {
    package enum Event: Sendable, Equatable {
      /// The session hears the channels from now on. What was sent earlier, since the last ``disconnected(_:)``, is lost: ask the database.
      case listening
      /// A notification, with up to 8,000 bytes of payload, from any role that may use the database.
      case notification(channel: String, payload: String)
      /// The session is lost, or could not be opened. Reported once for each loss, not for each attempt to open another one.
      case disconnected(PostgresError)
    }

    private let loop: ListenerLoop

    /// Starts at once.
    ///
    /// - Parameters:
    ///   - label: The name of the thread, and `application_name` at the server.
    ///   - silence: After so long without a notification the server is asked whether it is still there.
    ///   - onEvent: Called on the thread of the listener, one event after another. It must not block for long.
    /// - Throws: `configuration` if the process has no descriptor left.
    package init(
      _ configuration: PostgresConfiguration, label: String, channels: [String], silence: Duration = .seconds(5),
      onEvent: @escaping @Sendable (Event) -> Void
    ) throws(PostgresError) {
      loop = ListenerLoop(
        configuration, label: label, channels: channels, silence: silence, wake: try WakePipe(), onEvent: onEvent)
      DispatchQueue(label: label).async { [loop] in loop.run() }
    }

    deinit { loop.stop() }

    /// Ends the session. No event is reported after it returns. Must not be called by the handler of events.
    package func close() async {
      loop.stop()
      await withCheckedContinuation { continuation in loop.whenEnded { continuation.resume() } }
    }
  }
#endif
