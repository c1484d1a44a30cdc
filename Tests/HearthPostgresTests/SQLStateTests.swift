#if PostgreSQL
  import HearthPostgres
  import Testing

  @Suite("SQLSTATEs")
  struct SQLStateTests {
    @Test("the class of a state is its first two characters")
    func classOfState() {
      #expect(SQLState("08006").errorClass == "08")
    }
  }
#endif
