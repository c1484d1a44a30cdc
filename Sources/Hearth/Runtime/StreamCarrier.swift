internal import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport

/// Opens, feeds and closes the streams that the sync engine asks for, and posts their events.
///
/// Events of a stream carry its id, by which the engine recognises those of a stream that was replaced.
struct StreamCarrier {
  private let configuration: ClientConfiguration
  private let post: @Sendable (RunningClient.Message) -> Void
  /// The user for whom streams are opened and calls are made.
  var user: RequestUser
  /// Created with the first stream, so that a client without network needs no transport.
  private var transport: FirestoreTransport?
  /// Runs as long as the transport.
  private var connectivity: ConnectivityWatch?
  private var watch: (id: StreamID, handle: StreamHandle<WatchRequest>, credit: DeliveryCredit)?
  private var write: (id: StreamID, handle: StreamHandle<WriteRequest>)?

  init(_ configuration: ClientConfiguration, post: @escaping @Sendable (RunningClient.Message) -> Void) {
    self.configuration = configuration
    self.post = post
    user = configuration.credentials.initialUser
  }

  mutating func openWatch(_ id: StreamID) {
    do throws(StatusError) {
      let transport = try readyTransport()
      let credit = DeliveryCredit(limitBytes: configuration.unhandledWatchBytes)
      let handle = RequestUser.$current.withValue(user) { [post] in
        transport.openWatchStream(within: credit) { event in
          switch event {
          case .opened: post(.stream(.watchStreamOpened(id)))
          case .message(let response): post(.stream(.watchStreamMessage(id, response)))
          case .closed(let error): post(.stream(.watchStreamClosed(id, error)))
          }
        }
      }
      watch = (id, handle, credit)
    } catch {
      post(.stream(.watchStreamClosed(id, error)))
    }
  }

  mutating func openWrite(_ id: StreamID) {
    do throws(StatusError) {
      let transport = try readyTransport()
      let handle = RequestUser.$current.withValue(user) { [post] in
        transport.openWriteStream { event in
          switch event {
          case .opened: post(.stream(.writeStreamOpened(id)))
          case .message(let response): post(.stream(.writeStreamMessage(id, response)))
          case .closed(let error): post(.stream(.writeStreamClosed(id, error)))
          }
        }
      }
      write = (id, handle)
    } catch {
      post(.stream(.writeStreamClosed(id, error)))
    }
  }

  /// The engine has handled a message of this stream, so that the stream may deliver another one.
  func watchMessageHandled(on id: StreamID) {
    if let watch, watch.id == id { watch.credit.messageHandled() }
  }

  func send(_ request: WatchRequest, on id: StreamID) {
    if let watch, watch.id == id { watch.handle.send(request) }
  }

  func send(_ request: WriteRequest, on id: StreamID) {
    if let write, write.id == id { write.handle.send(request) }
  }

  mutating func closeWatch(_ id: StreamID) {
    guard let stream = watch, stream.id == id else { return }
    stream.handle.close()
    watch = nil
  }

  mutating func closeWrite(_ id: StreamID) {
    guard let stream = write, stream.id == id else { return }
    stream.handle.close()
    write = nil
  }

  /// Makes a call outside the streams.
  mutating func call(_ call: BackendCall) {
    do throws(StatusError) {
      let transport = try readyTransport()
      RequestUser.$current.withValue(user) {
        _ = Task { await call.run(transport) }
      }
    } catch {
      call.fail(.firestore(error))
    }
  }

  /// Reads documents once, for the engine.
  mutating func lookUp(_ id: LookUpID, _ keys: [DocumentKey]) {
    let post = post
    do throws(StatusError) {
      let transport = try readyTransport()
      RequestUser.$current.withValue(user) {
        _ = Task {
          do throws(StatusError) {
            switch try await transport.readableDocuments(keys) {
            case .success(let documents): post(.stream(.lookedUp(id, .success(documents))))
            case .failure(let error): post(.stream(.lookedUp(id, .unreadable(error))))
            }
          } catch {
            post(.stream(.lookedUp(id, .failure(error))))
          }
        }
      }
    } catch {
      post(.stream(.lookedUp(id, .failure(error))))
    }
  }

  /// Drops the present connection, which may be dead without a sign.
  func dropConnection() {
    transport?.reconnect()
  }

  func invalidateCredentials() {
    transport?.invalidateCredentials()
  }

  /// Closes the streams and the connection.
  mutating func shutdown(_ completion: @escaping @Sendable () -> Void) {
    watch?.handle.close()
    write?.handle.close()
    watch = nil
    write = nil
    connectivity?.end()
    connectivity = nil
    guard let transport else { return completion() }
    Task {
      await transport.shutdown()
      completion()
    }
  }

  private mutating func readyTransport() throws(StatusError) -> FirestoreTransport {
    if let transport { return transport }
    do {
      var wanted = TransportConfiguration(
        host: configuration.endpoint.host, port: configuration.endpoint.port, usesTLS: configuration.endpoint.usesTLS,
        databaseID: configuration.databaseID, credentials: configuration.credentials.access, logger: HearthLog.logger)
      wanted.googleAppID = configuration.googleAppID
      wanted.appCheck = configuration.credentials.appCheck
      wanted.trustedCertificateFiles = configuration.trustedCertificateFiles
      let transport = try FirestoreTransport(wanted)
      self.transport = transport
      connectivity = watchConnectivity()
      return transport
    } catch {
      throw StatusError(
        code: .unavailable,
        message: "No connection can be made to \(configuration.endpoint.host):\(configuration.endpoint.port): \(error)")
    }
  }

  /// Starts watching the system's network. Without it, attempts to reach the backend are still retried with pauses.
  private func watchConnectivity() -> ConnectivityWatch? {
    let system = SystemConnectivity.monitor(forBackendAt: configuration.endpoint.host)
    guard let monitor = configuration.connectivity ?? system else { return nil }
    do throws(ConnectivityError) {
      return try monitor.watch { [post] change in
        HearthLog.debug("The network has changed\(change.hasPath ? "" : "; no way out is left")")
        post(.stream(.connectivityChanged))
      }
    } catch {
      HearthLog.log(.notice, "The system's network is not watched: \(error)")
      return nil
    }
  }
}
