import { createAdminClient } from './ctl/admin-client.js';
import { parseCtlArguments } from './ctl/arguments.js';
import { runCommand } from './ctl/commands.js';
import { findConnection } from './ctl/connection.js';
import { explain } from './ctl/explain/explain.js';
import { USAGE } from './ctl/usage.js';
import { Failure } from './failure.js';
import { createHttpClient } from './http-client.js';

// uswarmctl, run by `npm run ctl`: the exit code is 0 when everything was done, else 1.
const http = createHttpClient();
try {
  const wanted = parseCtlArguments(process.argv.slice(2));
  const { command } = wanted;
  if (command.name === 'help') {
    process.stdout.write(USAGE);
  } else if (command.name === 'explain') {
    const { json, text } = await explain(command, process.env);
    process.stdout.write(`${wanted.json ? JSON.stringify(json, undefined, 2) : text}\n`);
  } else {
    const admin = createAdminClient(await findConnection(wanted, process.env), http);
    const { json, text, partly = false } = await runCommand(command, admin);
    process.stdout.write(`${wanted.json ? JSON.stringify(json, undefined, 2) : text}\n`);
    process.exitCode = partly ? 1 : 0;
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await http.close();
}
