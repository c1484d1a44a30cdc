#if PostgreSQL
  import Testing

  @testable import HearthPostgres

  @Suite("The URL of PostgreSQL")
  struct PostgresConfigurationTests {
    private func refusal(of url: String) -> PostgresError? {
      #expect(throws: PostgresError.self) { try PostgresConfiguration(url: url) }
    }

    @Test("hosts, ports, addresses and sockets are read as libpq reads them")
    func hosts() throws {
      let hosts = { (url: String) in try PostgresConfiguration(url: url).hosts.map { "\($0.name ?? "-") \($0.port)" } }
      #expect(try hosts("postgres://u@db/x") == ["db 5432"])
      #expect(try hosts("postgresql://u@db1,db2:5433,db3:5434/x") == ["db1 5432", "db2 5433", "db3 5434"])
      #expect(try hosts("postgres://u@db1:77,db2:77/x") == ["db1 77", "db2 77"])
      #expect(try hosts("postgres://u@[::1]:5433/x") == ["::1 5433"])
      #expect(try hosts("postgres://u@%2Frun%2Fpg/x") == ["/run/pg 5432"])
      #expect(try hosts("postgres:///x?host=/a,b&port=7") == ["/a 7", "b 7"])
      #expect(try PostgresConfiguration(url: "postgres:///x?host=/a,b&port=7").hosts.map(\.isLocal) == [true, false])
      #expect(try PostgresConfiguration(url: "postgres://db/x?hostaddr=10.0.0.1").hosts[0].address == "10.0.0.1")
    }

    @Test("a server that takes writes is demanded, unless the URL says otherwise")
    func targets() throws {
      #expect(try PostgresConfiguration(url: "postgres://db/x").target == .readWrite)
      for target in PostgresConfiguration.Target.allCases {
        let url = "postgres://db/x?target_session_attrs=\(target.rawValue)"
        #expect(try PostgresConfiguration(url: url).target == target)
      }
      let error = refusal(of: "postgres://db/x?target_session_attrs=prefer-standby")
      #expect(
        error?.message
          == "target_session_attrs=prefer-standby in the URL of PostgreSQL is not supported, only any, read-write, primary."
      )
    }

    @Test(
      "a password in the URL is refused, and not repeated",
      arguments: [
        "postgres://u:se3cret@db/x", "postgres://u:@db/x", "postgres://:se3cret@db/x",
        "postgres://db/x?password=se3cret", "postgres://db/x?user=u&password=se3cret",
        "postgres://db/x?sslpassword=se3cret",
        "postgres://u:se3/cret@db/x",
        "postgres://u:se3?cret@db/x", "postgres://u@v:se3cret@db/x", "postgres://u:se3cret@db:port/x",
        "postgres://u:p%40se3cret@db/x", "postgresql://u:se3cret@[::1/x", "postgres://u:se3cret@db/x?foo=1",
      ])
    func passwords(url: String) {
      let error = refusal(of: url)
      #expect(error?.kind == .configuration)
      #expect(error?.message.contains("se3cret") == false && error?.message.contains("cret") == false)
      #expect(error?.message.contains("PGPASSFILE") == true && error?.message.contains("PGPASSWORD") == true)
    }

    @Test("an unreadable URL that may have a password is not quoted")
    func unreadablePasswords() {
      let error = refusal(of: "postgres://db/x?password se3cret")
      #expect(error?.message.hasPrefix("The URL of PostgreSQL cannot be read. libpq's reason is left out") == true)
      #expect(error?.message.contains("se3cret") == false)
    }

    @Test(
      "what cannot be used is refused with its name",
      arguments: [
        ("host=db dbname=x", "postgres://"), ("mysql://db/x", "postgres://"), ("", "postgres://"),
        ("postgres://db:port/x", "\"port\""), ("postgres://db:0/x", "\"0\""), ("postgres://db:65536/x", "\"65536\""),
        ("postgres://a,b,c/x?port=1,2", "2 ports for 3 hosts"), ("postgres://db/x?foo=1", "foo"),
        ("postgres://a,b/x?hostaddr=1.1.1.1", "1 addresses"),
        ("postgres://db/x?connect_timeout=soon", "connect_timeout=soon"),
        ("postgres://db/x?connect_timeout=0", "connect_timeout=0"),
        ("postgres://db/x?service=s", "service"),
        ("postgres://db/x?replication=true", "replication"),
      ])
    func refusals(url: String, word: String) {
      let error = refusal(of: url)
      #expect(error?.kind == .configuration)
      #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }

    @Test("a description has user, hosts and database")
    func description() throws {
      let url = "postgres://hearth@db1,db2:5433/firestore?sslmode=verify-full&connect_timeout=3"
      let configuration = try PostgresConfiguration(url: url)
      #expect(configuration.description == "postgres://hearth@db1:5432,db2:5433/firestore")
      #expect(configuration.connectTimeout == .seconds(3))
      #expect(configuration.parameters["sslmode"] == "verify-full")
    }

    @Test("silent servers are noticed, and the URL may say when")
    func keepAlives() throws {
      #expect(try PostgresConfiguration(url: "postgres://db/x").parameters["tcp_user_timeout"] == "10000")
      let url = "postgres://db/x?tcp_user_timeout=7"
      #expect(try PostgresConfiguration(url: url).parameters["tcp_user_timeout"] == "7")
    }

    @Test("timeouts are whole milliseconds, and never 0, which means none")
    func timeouts() {
      var settings = PostgresSessionSettings()
      settings.statementTimeout = .zero
      settings.lockTimeout = .milliseconds(1500)
      settings.idleInTransactionTimeout = .seconds(Int64.max / 2)
      settings.others = ["jit": "on"]
      #expect(settings.values["statement_timeout"] == "1")
      #expect(settings.values["lock_timeout"] == "1500")
      #expect(settings.values["idle_in_transaction_session_timeout"] == "2000000000")
      #expect(settings.values["jit"] == "on")
      #expect(settings.values["plan_cache_mode"] == "force_generic_plan")
      settings.forcesPlans = false
      #expect(settings.values["plan_cache_mode"] == nil)
    }
  }
#endif
