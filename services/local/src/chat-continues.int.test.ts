import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ModelServer } from '@uswarm/dev-servers';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { eventually } from '@uswarm/testkit/eventually';
import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startCountingModel } from '../test/counted-answer.js';
import { type RunningProgram, runLocalMode } from '../test/local.js';
import { modelSettings } from '../test/model-settings.js';
import { type Program, runProgram } from '../test/program.js';

describe('npm run chat that is killed in the middle of an answer and started again', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let email: string;
  /** Sees the same user's conversation. */
  let observer: TestClient;
  let chats: Program[];

  beforeAll(async () => {
    model = await startCountingModel();
    local = await runLocalMode({
      ...modelSettings(model),
      SUMMARY_WORKERS: '0',
    });
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });
  beforeEach(async () => {
    chats = [];
    for (const file of await savedTurns()) await rm(file);
    email = `${randomUUID()}@example.com`;
    const token = await developmentToken(local.issuer, email);
    observer = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
  });
  afterEach(async () => {
    observer.close();
    for (const chat of chats) await chat.stop('SIGKILL');
  });

  function startChat(): Program {
    const chat = runProgram('packages/cli/dist/chat.js', ['--email', email], { USWARM_DATA_DIR: local.directory });
    chats.push(chat);
    return chat;
  }

  /** The files in which chats save their turns. */
  async function savedTurns(): Promise<string[]> {
    const names = await readdir(local.directory);
    return names.filter((name) => /^chat-.*\.json$/.test(name)).map((name) => join(local.directory, name));
  }
  async function isSaved(text: string): Promise<boolean> {
    const saved = await Promise.all((await savedTurns()).map((file) => readFile(file, 'utf8')));
    return saved.some((turn) => turn.includes(text));
  }

  /** Asks, and kills the chat when it has printed and saved half of the answer. @returns the other half's hold */
  async function askAndKill(): Promise<string> {
    const hold = `middle-${model.requests.length}`;
    const chat = startChat();
    await chat.printed(/workspace: ready/);
    chat.type('Count to six\n');
    await chat.printed(/Manager: one two three/);
    await eventually(() => isSaved('one two three'));
    await chat.stop('SIGKILL');
    return hold;
  }

  it('continues the text that is still streamed, after what it has printed', async () => {
    const hold = await askAndKill();
    const chat = startChat();
    await chat.printed(/continues with the answer to: Count to six/);
    await chat.printed(/workspace: ready/);
    model.release(hold);
    await chat.printed(/Manager: … ?four five six/);
    expect(chat.stdout()).not.toMatch(/one two three|you:/);
    // The next question is a new one.
    chat.type('Count again\n');
    await chat.printed(/Manager: one two three/);
  });

  it('prints the rest of an answer that has ended meanwhile, and asks nothing twice', async () => {
    const hold = await askAndKill();
    const requests = model.requests.length;
    model.release(hold);
    await observer.saw('message.done');
    const chat = startChat();
    await chat.printed(/Manager: … ?four five six/);
    expect(chat.stdout()).not.toContain('one two three');
    expect(model.requests).toHaveLength(requests);
    // Nothing is left to continue.
    chat.type();
    expect(await chat.ended).toBe(0);
    const next = startChat();
    await next.printed(/Manager: one two three four five six/);
    expect(next.stdout()).not.toContain('continues with');
  });
});
