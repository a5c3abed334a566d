package behaviours;

/** Runs the behaviours of drivers/README.md with the official Java driver, from the root of the repository. */
final class Main {
    private Main() {}

    public static void main(String[] selected) throws Exception {
        Values.list();
        Results.list();
        Transactions.list();
        Failures.list();
        Connections.list();
        System.exit(Behaviour.run(selected));
    }
}
