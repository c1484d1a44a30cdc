#if PostgreSQL
  internal import Dispatch

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// Waits for sockets and pipes.
  enum DescriptorWait {
    struct Interests: OptionSet {
      let rawValue: UInt8
      static let reading = Interests(rawValue: 1)
      static let writing = Interests(rawValue: 2)
    }

    /// Blocks until a descriptor is ready, has failed, or the deadline has passed.
    ///
    /// - Parameter wake: A pipe that ends the wait when it can be read.
    /// - Returns: False if the deadline has passed.
    static func wait(
      for descriptor: Int32, _ interests: Interests, until deadline: ContinuousClock.Instant, wake: Int32? = nil
    ) -> Bool {
      var events: Int16 = 0
      if interests.contains(.reading) { events |= Int16(POLLIN) }
      if interests.contains(.writing) { events |= Int16(POLLOUT) }
      // `poll` ignores negative descriptors.
      var descriptors = [
        pollfd(fd: descriptor, events: events, revents: 0), pollfd(fd: wake ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      while true {
        let rest = max(deadline - .now, .zero)
        let count = poll(&descriptors, nfds_t(descriptors.count), rest.pollTimeout)
        let failure = errno
        if count > 0 { return true }
        if ContinuousClock.now >= deadline { return false }
        // Waits again after an interruption, and for a deadline that is further away than `poll` can wait. Other failures show at the next
        // use of the descriptor.
        if count < 0, failure != EINTR { return true }
      }
    }
  }

  extension Duration {
    /// In milliseconds, rounded up so that a wait does not end before its deadline; at most an hour.
    fileprivate var pollTimeout: Int32 { Int32((min(self, .seconds(3600)) / .milliseconds(1)).rounded(.up)) }

    /// For a wait that may end some nanoseconds early; at most an hour.
    var timeInterval: DispatchTimeInterval {
      .nanoseconds(Int(min(max(self, .zero), .seconds(3600)) / .nanoseconds(1)))
    }
  }
#endif
