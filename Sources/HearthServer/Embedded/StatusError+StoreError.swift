internal import HearthModel
internal import HearthRPC
internal import HearthStore

extension StatusError {
  /// The status that a client gets for a failure of the storage. Details of the file stay in the server's log, except for
  /// causes that the client can do something about.
  init(storage error: any Error) {
    guard let error = error as? StoreError else {
      self.init(code: .internal, message: "The storage failed; the server's log says why.")
      return
    }
    switch error.kind {
    case .unavailable:
      self.init(code: .unavailable, message: "The storage is busy; try again.")
    case .full:
      self.init(code: .resourceExhausted, message: "The server's disk is full.")
    case .corrupt, .notADatabase:
      self.init(code: .dataLoss, message: "The file of this database is damaged; the log of the server says where.")
    case .newerSchema:
      self.init(
        code: .failedPrecondition,
        message: "The server's database file was written by a newer release of hearth; use that release.")
    default:
      self.init(code: .internal, message: "The storage failed; the server's log says why.")
    }
  }
}

extension StoreError: StatusConvertible {
  var status: StatusError { StatusError(storage: self) }
}
