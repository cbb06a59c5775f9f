import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import type { Page } from 'playwright-core';
import { refuse } from './altered.js';
import { ask, violations } from './page.js';
import { type Person, shoot, startWorld, type World } from './world.js';

const SENDS = /\/messages$/;
const MEBIBYTE = 1024 ** 2;

describeWith('chromium', 'messages of the user', () => {
  let world: World;
  let ada: Person;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-files-'));
    world = await startWorld();
    ada = await world.person('Ada');
  });
  beforeEach(async () => {
    world.behave = () => [{ text: 'Done.' }];
    await ada.converse();
    await ada.visit(`/w/${ada.workspace}/c/${ada.conversation}`);
    await composer(ada.page).waitFor();
  });
  afterAll(async () => {
    await world?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const composer = (page: Page) => page.getByRole('form', { name: 'Write a message' });
  const log = () => ada.page.getByRole('log', { name: 'Messages' });
  const own = () => log().getByRole('article').filter({ hasText: 'You' }).last();
  async function file(name: string, bytes: number): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, 'A letter about tea.');
    await truncate(path, bytes);
    return path;
  }
  const pick = async (...paths: string[]) => ada.page.getByLabel('Files', { exact: true }).setInputFiles(paths);

  it('list the files that were picked, and refuse a large one', async () => {
    await pick(await file('letter.txt', 19), await file('film.mp4', 25 * MEBIBYTE + 1));
    const files = composer(ada.page).getByRole('list', { name: 'Attached files' });
    await files.getByText('letter.txt').waitFor();
    expect(await files.getByRole('listitem').count()).toBe(1);
    await composer(ada.page).getByRole('alert').getByText('Larger than 25 MB, and not attached: film.mp4.').waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await shoot(ada.page, 'attachments');
    await files.getByRole('button', { name: 'Remove letter.txt' }).click();
    await files.waitFor({ state: 'detached' });
  });

  it('show how much of a file is uploaded, wait for the network, and send it then', async () => {
    const { page } = ada;
    const devtools = await page.context().newCDPSession(page);
    const limit = (bytesPerSecond: number, offline = false) =>
      devtools.send('Network.emulateNetworkConditions', {
        offline,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput: bytesPerSecond,
      });
    await devtools.send('Network.enable');
    await limit(MEBIBYTE);
    await pick(await file('large.bin', 8 * MEBIBYTE));
    await ask(page, 'Read this');
    await own()
      .getByText(/^Uploading… [1-9]\d? %/)
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await limit(-1, true);
    await own().getByText('Waits for the network').waitFor();
    await limit(-1);
    await own()
      .getByRole('link', { name: /^large.bin/ })
      .waitFor();
    await devtools.detach();
  });

  it('keep a file that was refused, and send it again', async () => {
    const allow = await refuse(ada.page, /\/v1\/uploads$/, 409, 'upload_quota_exceeded');
    await pick(await file('letter.txt', 19));
    await ask(ada.page, 'Read this');
    await own().getByRole('alert').getByText('Not sent. Your files have used all of their space.').waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await allow();
    await own().getByRole('button', { name: 'Retry' }).click();
    await own()
      .getByRole('link', { name: /^letter.txt/ })
      .waitFor();
  });

  it('save a file although its link in the page has expired', async () => {
    const { page } = ada;
    await pick(await file('letter.txt', 19));
    await ask(page, 'Read this');
    const link = own().getByRole('link', { name: /^letter.txt/ });
    await link.waitFor();
    await link.evaluate((element) =>
      element.setAttribute('href', String(element.getAttribute('href')).replace(/sig=.*/, 'sig=1.x')),
    );
    const downloading = page.waitForEvent('download');
    await link.click();
    expect(await readFile(await (await downloading).path(), 'utf8')).toBe('A letter about tea.');
  });

  it('are sent, then read, and wait for their turn while another question is answered', async () => {
    world.behave = (_agent, prompt) =>
      prompt.includes('First') ? [{ hold: 'first' }, { text: 'One.' }] : [{ text: 'Two.' }];
    const { page } = ada;
    const sending = Promise.withResolvers<void>();
    const isSend = (url: URL): boolean => SENDS.test(url.pathname);
    await page.route(isSend, async (route) => {
      if (route.request().method() === 'POST') await sending.promise;
      await route.fallback();
    });
    await ask(page, 'First');
    await own().getByText('Sending…').waitFor();
    expect(await violations(page)).toEqual([]);
    sending.resolve();
    await page.unroute(isSend);
    await own().getByText('Read', { exact: true }).waitFor();
    await ask(page, 'Second');
    await own().getByText('Sent', { exact: true }).waitFor();
    world.model.release('first');
    await log().getByText('Two.').waitFor();
    await own().getByText('Read', { exact: true }).waitFor();
  });

  it.each([
    ['too many messages', 'rate_limited', /^Waits: too many messages at the same time, tries again at /],
    ['a full queue', 'turn_queue_full', /^Waits: too many questions are not answered yet, tries again at /],
  ])('wait after %s, and say until when', async (_, code, text) => {
    const allow = await refuse(ada.page, SENDS, 429, code, { retry_after_ms: 60_000 });
    await ask(ada.page, 'Hello');
    await own().getByText(text).waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await own().getByRole('button', { name: 'Cancel' }).click();
    await own().waitFor({ state: 'detached' });
    await allow();
  });

  it('reach an agent that works, and then tell that another message’s answer answers them', async () => {
    const [step, end] = [`step ${ada.conversation}`, `end ${ada.conversation}`];
    const toolCalls = [{ name: 'remember', arguments: { key: 'drink', content: 'Tea' } }];
    world.behave = (_agent, _prompt, { length }) =>
      length === 0 ? [{ text: 'Yes. ' }, { hold: step }, { toolCalls }] : [{ text: 'Coffee it is.' }, { hold: end }];
    await ask(ada.page, 'Remember that I like tea');
    await world.model.reached(step);
    await composer(ada.page).getByRole('textbox').fill('Coffee, not tea');
    await shoot(ada.page, 'send-now');
    expect(await violations(ada.page)).toEqual([]);
    await composer(ada.page).getByRole('button', { name: 'Send now' }).click();
    world.model.release(step);
    await world.model.reached(end);
    await own().getByText('Read · answered with another message').waitFor();
    world.model.release(end);
    await log().getByText('Coffee it is.').waitFor();
    await composer(ada.page).getByRole('button', { name: 'Stop the answer' }).waitFor({ state: 'detached' });
  });

  it('wait for a service that is not available, and cannot be cancelled, because it may have them', async () => {
    const allow = await refuse(ada.page, SENDS, 503, 'service_unavailable', { retry_after_ms: 2_000 });
    await ask(ada.page, 'Hello');
    await own()
      .getByText(/^Waits for the service, tries again at /)
      .waitFor();
    expect(await own().getByRole('button').count()).toBe(0);
    await allow();
    await log().getByText('Done.').waitFor();
  });

  it('say why they were refused, and can be sent again', async () => {
    const allow = await refuse(ada.page, SENDS, 429, 'token_limit_reached');
    await ask(ada.page, 'Hello');
    await own().getByRole('alert').getByText('Not sent. Your token limit of this month is reached.').waitFor();
    expect(await violations(ada.page)).toEqual([]);
    await allow();
    await own().getByRole('button', { name: 'Retry' }).click();
    await log().getByText('Done.').waitFor();
  });

  it('cannot be sent when they are too long', async () => {
    await ada.page.getByRole('textbox', { name: 'Message' }).fill('x'.repeat(32_001));
    await composer(ada.page).getByRole('alert').getByText('32,001 of 32,000 characters').waitFor();
    expect(await composer(ada.page).getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    expect(await violations(ada.page)).toEqual([]);
    await ada.page.getByRole('textbox', { name: 'Message' }).fill('');
  });

  it('are not written into the conversation that is still shown while a new one is created', async () => {
    const { page } = ada;
    const { promise: created, resolve: create } = Promise.withResolvers<void>();
    await page.route(/\/conversations$/, async (route) => {
      if (route.request().method() === 'POST') await created;
      await route.continue();
    });
    const text = page.getByRole('textbox', { name: 'Message', includeHidden: true });
    const at = (await text.boundingBox())!;
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await page.mouse.click(at.x + 5, at.y + 5);
    await page.keyboard.type('For the new one');
    expect(await text.inputValue()).toBe('');
    create();
    await page.waitForURL((url) => !url.pathname.endsWith(ada.conversation));
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
    await page.unrouteAll();
  });
});
