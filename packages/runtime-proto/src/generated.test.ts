import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const packageDir = join(dirname(fileURLToPath(import.meta.url)), '..');
const binDir = join(packageDir, 'node_modules', '.bin');

/** Runs the pinned buf. Rejects with its output on a non-zero exit code. */
function buf(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, PATH: `${binDir}${delimiter}${process.env['PATH'] ?? ''}` };
  return promisify(execFile)(join(binDir, 'buf'), args, { cwd: packageDir, env });
}

async function filesBelow(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const pairs = paths.toSorted().map(async (path) => [path.slice(root.length), await readFile(path, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(pairs));
}

describe('the runtime protocol', () => {
  let fresh: string;
  beforeAll(async () => {
    fresh = await mkdtemp(join(tmpdir(), 'uswarm-proto-'));
  });
  afterAll(() => rm(fresh, { recursive: true }));

  it('has generated code that equals the output of buf for the .proto files', async () => {
    await buf('generate', '--output', fresh);
    const generated = await filesBelow(join(fresh, 'src', 'gen'));
    expect(Object.keys(generated)).not.toHaveLength(0);
    expect(await filesBelow(join(packageDir, 'src', 'gen'))).toEqual(generated);
  });

  it('passes buf lint', async () => {
    await expect(buf('lint')).resolves.toMatchObject({ stdout: '' });
  });
});
