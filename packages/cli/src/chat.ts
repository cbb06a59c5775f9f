import { CommanderError } from 'commander';
import { parseChatArguments } from './chat-arguments.js';
import { exitWhenOutputCloses, usageExitCode } from './command-line.js';
import { Failure } from './failure.js';
import { runChat } from './run-chat.js';

// `npm run chat`: exits with 0 when the answer was delivered, 2 after a usage error, 130 after Ctrl-C, else 1.
exitWhenOutputCloses(process);
const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());

try {
  const { stdin, stdout, stderr, env } = process;
  const args = parseChatArguments(process.argv.slice(2), env);
  const code = await runChat(args, { stdin, stdout, stderr, env }, interruption.signal);
  process.exitCode = interruption.signal.aborted ? 130 : code;
} catch (error) {
  if (interruption.signal.aborted) {
    process.exitCode = 130;
  } else if (error instanceof CommanderError) {
    process.exitCode = usageExitCode(error);
  } else if (error instanceof Failure) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  } else {
    throw error;
  }
}
