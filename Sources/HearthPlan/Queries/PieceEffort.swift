/// The cost at which a piece of a result may be read.
package enum PieceEffort: Sendable {
  /// Each document that is read belongs to the piece, with few exceptions.
  case direct
  /// Other documents are read along the way, however many there are. All pieces together read each document a few times at most.
  case patient
}
