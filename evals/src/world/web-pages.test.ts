import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { createWebPages } from './web-pages.js';

const WEB = createWebPages(
  [
    { url: 'https://tea.example/prices', title: 'Prices', text: 'Green tea costs 5 euros.', status: 200 },
    { url: 'https://tea.example/gone', title: '', status: 410 },
    { url: 'https://tea.example/old', title: '', status: 200, redirect: 'https://tea.example/prices' },
    { url: 'https://tea.example/robots.txt', title: '', text: 'User-agent: *\nDisallow: /x', status: 200 },
  ],
  [
    { title: 'Prices', url: 'https://tea.example/prices', text: 'Green tea costs 4 euros.' },
    { title: 'Pots', url: 'https://pots.example/', text: 'A pot costs 20 euros.' },
  ],
);

async function get(url: string) {
  const { statusCode, headers, body } = await WEB.request(url);
  return { status: statusCode, location: headers['location'], body: await text(body) };
}

describe('the web of a world', () => {
  it('has a page with its own text, and not with the excerpt that the search finds', async () => {
    expect((await get('https://tea.example/prices#now')).body).toContain('<p>Green tea costs 5 euros.</p>');
  });

  it('has the found text where the world has no page', async () => {
    expect((await get('https://pots.example/')).body).toContain('A pot costs 20 euros.');
  });

  it('has statuses, redirects and robots files', async () => {
    expect((await get('https://tea.example/gone')).status).toBe(410);
    expect((await get('https://tea.example/old')).location).toBe('https://tea.example/prices');
    expect((await get('https://tea.example/robots.txt')).body).toBe('User-agent: *\nDisallow: /x');
    expect((await get('https://tea.example/none')).status).toBe(404);
  });

  it('has no other hosts', async () => {
    await expect(get('https://none.example/')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('lists what was opened, without robots files', () => {
    expect(WEB.opened).toContain('https://tea.example/prices');
    expect(WEB.opened).not.toContain('https://tea.example/robots.txt');
  });
});
