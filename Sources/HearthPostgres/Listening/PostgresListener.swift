#if PostgreSQL
  /// A session that hears the notifications of some channels (LISTEN), on a thread of its own, and opens another session when it is lost.
  package final class PostgresListener: Sendable {
    package enum Event: Sendable, Equatable {
      /// The session hears the channels from now on. What was sent before, since the last ``disconnected(_:)``, is lost: ask the database.
      case listening
      /// A notification, with up to 8,000 bytes of payload, from whoever may use the database.
      case notification(channel: String, payload: String)
      /// The session is lost, or could not be opened. Reported once for each loss, not for each attempt to open another one.
      case disconnected(PostgresError)
    }

    /// Starts at once.
    ///
    /// - Parameter onEvent: Called on the thread of the listener, one event after another. It must not block for long.
    package init(
      _ configuration: PostgresConfiguration, label: String, channels: [String],
      onEvent: @escaping @Sendable (Event) -> Void
    ) {}

    /// Ends the session. No event is reported after it returns.
    package func close() async {}
  }
#endif
