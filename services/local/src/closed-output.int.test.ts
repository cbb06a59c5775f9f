import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { programFile } from '@uswarm/testkit/program-file';

it.each(['packages/cli/dist/chat.js', 'packages/cli/dist/uswarmctl.js'])(
  '%s ends without an error when its output is no longer read',
  async (program) => {
    const child = spawn(process.execPath, [programFile(program), '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect({ errors, code: code as number }).toEqual({ errors: '', code: 0 });
  },
);
