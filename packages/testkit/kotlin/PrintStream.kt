/** Calls the documented function: PrintStream <url> <workspace> <token>. Prints each event as one line. */
fun main(arguments: Array<String>) {
    val (url, workspace, token) = arguments
    stream(url, workspace, { token }) { event, data ->
        println("$event\t$data")
        System.out.flush()
    }
}
