export const USAGE = `Usage: npm run ctl -- <command> [options]

uswarmctl looks after a running uswarm, by the internal API of its orchestrator, but for explain. Everything that names a user, and every
change, is written to the audit log.

  user show <user>                  who it is: plan, usage of this month, workspaces, devices
  user ban <user>                   refuses the user from now on, and closes the sockets   --reason TEXT
  user unban <user>                 lets the user in again                                 --reason TEXT
  user plan <user> <plan>           changes the plan        --until DATE (default: for good) --reason TEXT
  workspace show <id>               runtime, messages, turns, usage of this month
  legal list                        every version of the legal documents, the newest first
  legal publish <document> <version> <file>
                                    puts a new text in force; users have to accept it again
                                    document: terms_of_service or privacy_policy
  turns list                        replies that wait or run, the oldest first
                                    --status queued|running|failed --workspace ID --older-than 5m --limit 50
  turns requeue <id>...             has replies taken up again: of one that waits or runs whoever has it loses it,
                                    one that failed begins anew   --reason TEXT
  explain <id or UserSwarm>         why a runtime is as it is, and what to do: conditions, pod, Events. Asks Kubernetes,
                                    with your kubeconfig, and not the orchestrator   --context NAME --kubeconfig FILE
  audit                             what was done, the newest first   --user USER --limit 50

<user> is an id, an e-mail address, or the uid at the identity provider.

Options for all:
  --json           print the answer as JSON
  --as NAME        who does it, for the audit log (default: your user name on this machine)
  --url URL        the internal API (default: USWARM_ADMIN_URL)
  --key-file FILE  a file with its key for operators (default: USWARM_ADMIN_KEY holds the key itself)
  --data-dir DIR   without the two, the data folder of a running npm start (default: USWARM_DATA_DIR, else .data)
  --help           print this
`;
