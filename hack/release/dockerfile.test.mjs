import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { dockerfile } from '../images/base.mjs';
import { imageConfig } from './dockerfile.mjs';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uswarm-dockerfile-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function configOf(text, args = {}) {
  const file = join(folder, 'Dockerfile');
  writeFileSync(file, text);
  return imageConfig(file, args);
}

it('evaluates the Dockerfile of the services', () => {
  const config = imageConfig(dockerfile, { TITLE: 'uswarm a', NODE_OPTIONS: '--b', CONTENT: 'c' });
  expect(config).toMatchObject({
    workdir: '/app',
    user: '65532:65532',
    entrypoint: ['node'],
    cmd: ['/app/dist/main.js'],
    env: { NODE_ENV: 'production', NODE_OPTIONS: '--b', NODE_COMPILE_CACHE: '/app/compile-cache' },
    labels: { 'org.opencontainers.image.title': 'uswarm a', 'dev.uswarm.content': 'c' },
    layers: ['modules', 'app'],
  });
});

it('uses the default of an argument without a value', () => {
  expect(configOf('ARG A=1\nARG B\nFROM scratch\nENV X=${A}-${B}\n', { B: '2' }).env).toEqual({ X: '1-2' });
});

it.each([
  ['FROM a\nRUN make\n', 'RUN in the Dockerfile is not supported'],
  ['FROM a\nCOPY app/ /elsewhere/\n', 'COPY to /elsewhere/ is not supported'],
])('refuses what needs a container or another folder: %j', (text, message) => {
  expect(() => configOf(text)).toThrow(message);
});
