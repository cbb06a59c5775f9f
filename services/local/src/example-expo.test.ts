import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';

const REPOSITORY = path.resolve(import.meta.dirname, '../../..');
const CLIENT = path.join(REPOSITORY, 'packages/client');
const EXAMPLE = path.join(REPOSITORY, 'examples/expo');

describe('examples/expo', () => {
  it('has correct types', () => {
    const compiler = path.join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const project = path.join(REPOSITORY, 'services/local/test/expo');
    const { stdout, status } = spawnSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });

  it('can be bundled with the conditions of React Native', async () => {
    const { outputFiles } = await build({
      entryPoints: [path.join(EXAMPLE, 'app.tsx')],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      mainFields: ['react-native', 'browser', 'module', 'main'],
      conditions: ['react-native'],
      jsx: 'automatic',
      // Of the platform; Metro resolves them in an installed app.
      external: ['@react-native-async-storage/*', 'expo/*', 'react', 'react/*', 'react-native'],
      alias: {
        '@uswarm/client/react': path.join(CLIENT, 'dist/react.js'),
        '@uswarm/client': path.join(CLIENT, 'dist/index.js'),
      },
    });
    expect(outputFiles[0]?.text).toContain('workspace.subscribed');
  });

  it('has at most 300 lines', () => {
    expect(readFileSync(path.join(EXAMPLE, 'app.tsx'), 'utf8').split('\n').length).toBeLessThanOrEqual(300);
  });
});
