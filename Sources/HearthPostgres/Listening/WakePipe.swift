#if PostgreSQL
  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// Ends the wait of a thread from another one.
  final class WakePipe: Sendable {
    /// Can be read from the first ``signal()`` on.
    let reading: Int32
    private let writing: Int32

    init() throws(PostgresError) {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else {
        throw PostgresError(
          .configuration,
          "A pipe for the thread that listens to PostgreSQL cannot be opened: \(String(cString: strerror(errno))).")
      }
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      reading = ends[0]
      writing = ends[1]
    }

    deinit {
      close(reading)
      close(writing)
    }

    func signal() {
      var byte: UInt8 = 0
      // A full pipe wakes as well.
      _ = write(writing, &byte, 1)
    }

    /// Blocks until the first ``signal()``, or until the deadline.
    func wait(until deadline: ContinuousClock.Instant) {
      _ = DescriptorWait.wait(for: reading, .reading, until: deadline)
    }
  }
#endif
