#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Synchronization

  /// The definitions of a database's indexes as a node has read them last.
  ///
  /// Each transaction that depends on them compares `index_generation` and `index_state` of its own snapshot. An older state is good for reading:
  /// there are only fewer indexes, or marks that are not as far as they could be. Writing needs the state under the order row.
  final class ClusterIndexes: Sendable {
    private struct State {
      var known: ClusterDefinitions?
      /// A transaction has seen another state than the known one.
      var isStale = false
    }

    /// The times of ``ClusterStorage/tendIndexes()``, in microseconds since 1970.
    struct Upkeep {
      private var opening: IndexDemand.Time?
      private var nextCheck: IndexDemand.Time = 0

      /// Returns when the database was opened, if it is time to look at the uses again.
      mutating func begin(at now: IndexDemand.Time) -> IndexDemand.Time? {
        let opening = opening ?? now
        self.opening = opening
        guard now >= nextCheck else { return nil }
        nextCheck = now + IndexDemand.saveInterval
        return opening
      }
    }

    private let state = Mutex(State())
    /// The indexes that queries of this node ask for and use.
    let demand = Mutex(IndexDemand())
    /// When the uses of automatic indexes are looked at again, and when that was done first.
    let upkeep = Mutex(Upkeep())
    /// True while a task of this node fills indexes.
    let isFilling = Atomic(false)

    /// The known definitions; nil if they have to be read, because there are none, or newer ones.
    var known: ClusterDefinitions? { state.withLock { $0.isStale ? nil : $0.known } }

    /// Takes note of `index_state` in a snapshot: if it is another one, the definitions are read again.
    func note(state present: Int64) {
      state.withLock { state in
        if let known = state.known, known.state != present { state.isStale = true }
      }
    }

    /// Gives the definitions of the running transaction, and keeps them if there are no newer ones.
    ///
    /// - Parameters:
    ///   - database: The database's number.
    ///   - present: `index_state` in the transaction.
    func definitions(
      of database: Int64, on session: PostgresSession, state present: Int64, generation: Int64
    ) throws(PostgresError) -> ClusterDefinitions {
      if let known = state.withLock({ $0.known }), known.state == present, known.generation == generation {
        return known
      }
      let rows = try session.run(ClusterDefinitions.statement.call(.int8(database)))
      let read = try ClusterDefinitions(rows, generation: generation, state: present)
      note(read)
      return read
    }

    func note(_ read: ClusterDefinitions) {
      state.withLock { state in
        // A snapshot may be older than what was read in the meantime.
        guard state.known.map({ $0.state <= read.state }) ?? true else { return }
        state = State(known: read)
      }
    }

    /// For another history of the database.
    func forgetAll() {
      state.withLock { $0 = State() }
    }
  }
#endif
