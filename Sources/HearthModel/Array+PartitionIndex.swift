extension Array {
  /// The first index whose element meets `predicate`, which holds for all elements after the first that meets it; `endIndex` if none does.
  package func partitionIndex(_ predicate: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = low + (high - low) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
