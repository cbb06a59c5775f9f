import type { ReceiptKey } from '@uswarm/service-kit';
import {
  jsonLines,
  openSwarmFile,
  type SwarmFile,
  SwarmFileError,
  type Table,
  tablePath,
  TABLES,
} from '@uswarm/swarm-file';
import { Failure } from '../failure.js';
import type { CommandResult } from './commands.js';
import type { CtlCommand } from './ctl-arguments.js';
import { readKeys, verifyReceipt } from './receipts.js';
import { plain } from './show.js';

/** A valid file's content. */
interface Contents {
  kid: string;
  workspace_id: string;
  created_at: string;
  members: number;
  bytes: number;
  rows: Record<Table, number>;
  invalid_receipts: number;
  /** Valid receipts whose keys are from the file, and were not passed. */
  other_receipts: number;
}

/**
 * Verifies a `.uswarm` file without a connection, with one line in memory.
 *
 * @throws Failure if the file or the keys cannot be read
 */
export async function verifySwarmFile({
  file,
  keys: keysFile,
}: Extract<CtlCommand, { name: 'swarm-file verify' }>): Promise<CommandResult> {
  const trusted = keysFile === undefined ? undefined : await readKeys(keysFile);
  try {
    const opened = await openSwarmFile(file);
    try {
      return described(await read(opened, trusted), trusted !== undefined);
    } finally {
      opened.close();
    }
  } catch (error) {
    if (error instanceof SwarmFileError) {
      const { problem, message: reason } = error;
      return { json: { valid: false, problem, reason }, text: plain(`invalid: ${reason}`), partial: true };
    }
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new Failure(`${file} cannot be read (${code}).`, { cause: error });
  }
}

function described(contents: Contents, isTrusted: boolean): CommandResult {
  const { kid, workspace_id, created_at, members, bytes, rows } = contents;
  const { invalid_receipts: invalid, other_receipts: others } = contents;
  const counted = TABLES.map((table) => `${rows[table]} ${table}`).join(', ');
  const text = [
    `valid: workspace ${workspace_id} of ${created_at}, ${members} members, ${bytes} bytes`,
    counted,
    isTrusted
      ? `signed with ${kid}`
      : `signed with ${kid}, a key from the file: pass the installation's keys with --keys to verify who signed`,
    ...(isTrusted && others > 0 ? [`${others} receipts are signed with keys from the file that were not passed`] : []),
    ...(invalid === 0 ? [] : [`${invalid} receipts are invalid`]),
  ];
  return {
    json: { valid: invalid === 0, origin_verified: isTrusted, ...contents },
    text: text.map(plain).join('\n'),
    partial: invalid > 0,
  };
}

/** An import keeps receipts of another installation, which never has the key of the file. */
async function read(file: SwarmFile, trusted: readonly ReceiptKey[] | undefined): Promise<Contents> {
  const { manifest } = file;
  const passed = new Set(trusted?.map(({ kid }) => kid));
  const keys = [...(trusted ?? []), ...file.keys];
  const contents: Contents = {
    kid: await file.verifySignature(trusted ?? file.keys),
    workspace_id: manifest.workspace_id,
    created_at: manifest.created_at,
    members: manifest.members.length,
    bytes: manifest.members.reduce((sum, { size }) => sum + size, 0),
    rows: Object.fromEntries(TABLES.map((table) => [table, 0])) as Contents['rows'],
    invalid_receipts: 0,
    other_receipts: 0,
  };
  for (const { path } of manifest.members) {
    const content = await file.open(path);
    const table = TABLES.find((one) => tablePath(one) === path);
    if (table === undefined) {
      // Its end verifies it.
      for await (const _ of content);
    } else {
      for await (const row of jsonLines(content, path)) {
        contents.rows[table] += 1;
        if (table !== 'receipts') continue;
        const { kid } = (await verifyReceipt(row, keys)).result;
        if (kid === null) contents.invalid_receipts += 1;
        else if (!passed.has(kid)) contents.other_receipts += 1;
      }
    }
  }
  return contents;
}
