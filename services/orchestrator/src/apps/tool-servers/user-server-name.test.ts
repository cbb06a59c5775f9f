import { describe, expect, it } from '@jest/globals';
import { cleanName, lookOfName } from './user-server-name.js';

describe('the comparable form of a server name', () => {
  it.each([
    ['GitHub', 'github'],
    ['GitHub', 'Git Hub'],
    ['GitHub', 'GіtHub'],
    ['GitHub', 'G1tHub'],
    ['GitHub', 'GitHub.'],
    ['GitHub', 'ＧｉｔＨｕｂ'],
    ['GitHub', 'Gíthub'],
    ['GitHub', 'G|tHub'],
    ['Slack', 'S𝗅ack'],
    ['Slack', 'Ѕlасk'],
    ['Modern wiki', 'Modem wiki'],
    ['Book', 'B00k'],
  ])('is the same for %j and %j', (name, other) => expect(lookOfName(other)).toBe(lookOfName(name)));

  it.each([
    ['GitHub', 'GitLab'],
    ['Tracker', 'Tracker of Ada'],
    ['Плита', 'Плата'],
    ['課題', '課金'],
  ])('differs for %j and %j', (name, other) => expect(lookOfName(other)).not.toBe(lookOfName(name)));
});

describe('the name of a server that a user adds', () => {
  it.each([
    [' My\n  wiki ', 'My wiki'],
    ['My\u200b wiki\u202e', 'My wiki'],
    ['\u200b', ''],
    ['…', ''],
  ])('is one visible line: %j is stored as %j', (name, stored) => expect(cleanName(name)).toBe(stored));
});
