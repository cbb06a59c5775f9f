import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalTimeZone } from './time-zones.js';
import { WINDOWS_ZONES } from './windows-zones.js';

/** The hours that a zone is ahead of UTC, in January and in July. */
const hoursAhead = (zone: string): number[] =>
  ['2026-01-15', '2026-07-15'].map((day) => {
    const [, offset = ''] = /GMT(.*)$/.exec(
      new Date(`${day}T12:00:00Z`).toLocaleString('en', { timeZone: zone, timeZoneName: 'longOffset' }),
    ) ?? [''];
    const [hours = '0', minutes = '0'] = offset.split(':');
    return Number(hours) + (hours.startsWith('-') ? -1 : 1) * (Number(minutes) / 60);
  });

describe('canonicalTimeZone', () => {
  it.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/berlin', 'Europe/Berlin'],
    ['EUROPE/BERLIN', 'Europe/Berlin'],
    [' Europe/Berlin\t', 'Europe/Berlin'],
    ['"Europe/Berlin"', 'Europe/Berlin'],
    ["'Europe/Berlin'", 'Europe/Berlin'],
    ['“Europe/Berlin”', 'Europe/Berlin'],
    ['Europe%2FBerlin', 'Europe/Berlin'],
    ['Europe%2fBerlin', 'Europe/Berlin'],
    ['Europe\\/Berlin', 'Europe/Berlin'],
    ['America/New York', 'America/New_York'],
    ['America%2FNew%20York', 'America/New_York'],
    ['2026-11-28T10:00+01:00[Europe/Berlin]', 'Europe/Berlin'],
    ['US/Eastern', 'America/New_York'],
    ['GB', 'Europe/London'],
    ['EST5EDT', 'America/New_York'],
    ['est5edt', 'America/New_York'],
    ['Etc/UTC', 'UTC'],
    ['Etc/GMT-5', 'Etc/GMT-5'],
    ['etc/gmt+3', 'Etc/GMT+3'],
    ['UTC', 'UTC'],
    ['utc', 'UTC'],
    ['GMT', 'UTC'],
    ['Z', 'UTC'],
    ['z', 'UTC'],
    ['UT', 'UTC'],
    ['GMT0', 'UTC'],
    ['+00:00', 'UTC'],
    ['-00:00', 'UTC'],
    ['UTC+0', 'UTC'],
    ['UTC+00:00', 'UTC'],
    ['Coordinated Universal Time', 'UTC'],
    ['GMT+05:30', '+05:30'],
    ['GMT+5:30', '+05:30'],
    ['GMT+0530', '+05:30'],
    ['GMT+530', '+05:30'],
    ['gmt+05:30', '+05:30'],
    ['GMT%2B05:30', '+05:30'],
    ['UTC +05:30', '+05:30'],
    ['+05:30', '+05:30'],
    ['+0530', '+05:30'],
    ['+5:30', '+05:30'],
    ['+05:30:00', '+05:30'],
    ['UTC+2', '+02:00'],
    ['UTC+02', '+02:00'],
    ['utc+02:00', '+02:00'],
    ['UTC-03', '-03:00'],
    ['UTC\u221203:00', '-03:00'],
    ['-3', '-03:00'],
    ['GMT-5', '-05:00'],
    ['GMT+14', '+14:00'],
    ['-12:00', '-12:00'],
    ['UTC-09:30', '-09:30'],
    ['UTC+12:45', '+12:45'],
    ['W. Europe Standard Time', 'Europe/Berlin'],
    ['w. europe standard time', 'Europe/Berlin'],
    ['"W. Europe Standard Time"', 'Europe/Berlin'],
    ['W.%20Europe%20Standard%20Time', 'Europe/Berlin'],
    ['W.+Europe+Standard+Time', 'Europe/Berlin'],
    ['W. Europe Summer Time', 'Europe/Berlin'],
    ['Pacific Standard Time', 'America/Los_Angeles'],
    ['Pacific Daylight Time', 'America/Los_Angeles'],
    ['GMT Standard Time', 'Europe/London'],
    ['Greenwich Standard Time', 'Atlantic/Reykjavik'],
    ['India Standard Time', 'Asia/Calcutta'],
    ['Nepal Standard Time', 'Asia/Katmandu'],
    ['Central Standard Time (Mexico)', 'America/Mexico_City'],
    ['Central Daylight Time (Mexico)', 'America/Mexico_City'],
    ['UTC-11', '-11:00'],
    ['UTC+13', '+13:00'],
    ['GMT+0200 (Central European Summer Time)', '+02:00'],
    ['GMT+05:30 (IST)', '+05:30'],
    ['Europe/Berlin (GMT+2) offset 7200 (Daylight)', 'Europe/Berlin'],
    ['Europe/Berlin (fixed (equal to current))', 'Europe/Berlin'],
    ['(GMT+01:00) Europe/Berlin', 'Europe/Berlin'],
    ['(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi', '+05:30'],
    ['libcore.util.ZoneInfo[id="Europe/Berlin",mRawOffset=3600000]', 'Europe/Berlin'],
    [
      'sun.util.calendar.ZoneInfo[id="Europe/Berlin",offset=3600000,dstSavings=3600000,useDaylight=true,transitions=143,lastRule=java.util.SimpleTimeZone[id=Europe/Berlin,offset=3600000]]',
      'Europe/Berlin',
    ],
    ['/usr/share/zoneinfo/Europe/Berlin', 'Europe/Berlin'],
    [':Europe/Berlin', 'Europe/Berlin'],
    ['posix/Asia/Tokyo', 'Asia/Tokyo'],
    ['GMT 05:30', '+05:30'],
    ['GMT+05.30', '+05:30'],
    ['+053000', '+05:30'],
    ['UTC\u20135', '-05:00'],
    ['UTC\u00b100:00', 'UTC'],
    ['UTC0', 'UTC'],
    ['PDT', 'America/Los_Angeles'],
    ['CEST', 'Europe/Paris'],
    ['BST', 'Europe/London'],
    ['EST', 'America/New_York'],
    ['IST', 'Asia/Calcutta'],
    ['Jerusalem Daylight Time', 'Asia/Jerusalem'],
    ['British Summer Time', 'Europe/London'],
    ['Japan Standard Time', 'Asia/Tokyo'],
  ])('takes %j as %j', (text, zone) => {
    expect(canonicalTimeZone(text)).toBe(zone);
  });

  it.each([
    '',
    ' ',
    'Mars/Olympus',
    'Europe/Nowhere',
    'Europe',
    'Central Time',
    'Standard Time',
    'local',
    'localtime',
    'null',
    'undefined',
    'UTC+',
    'UTC+24',
    'UTC+2:60',
    '+99',
    '++2',
    '330',
    '-330',
    '-120',
    '+14:01',
    '+15:00',
    '-12:30',
    'UTC+20',
    'UTC\u00b15',
    '\u2013330',
    'Mars'.repeat(200),
    '05:30',
    '()',
    '(local) time',
    'Pacific Time (US & Canada)',
    '%',
    '%zz',
    '<script>',
    'constructor',
    '__proto__',
    'Europe/Berlin'.repeat(10),
  ])('knows no zone of the name %j', (text) => {
    expect(canonicalTimeZone(text)).toBeUndefined();
  });

  it.each([
    ['UTC-5', [-5, -5]],
    ['GMT-05:00', [-5, -5]],
    ['Etc/GMT-5', [5, 5]],
    ['Etc/GMT+5', [-5, -5]],
    ['+05:45', [5.75, 5.75]],
    ['UTC-09:30', [-9.5, -9.5]],
    ['W. Europe Standard Time', [1, 2]],
    ['Pacific Daylight Time', [-8, -7]],
    ['EST5EDT', [-5, -4]],
    ['AUS Eastern Standard Time', [11, 10]],
    ['India Standard Time', [5.5, 5.5]],
  ])('takes %s as a zone that is %j hours ahead of UTC in January and July', (text, hours) => {
    expect(hoursAhead(canonicalTimeZone(text) ?? '')).toEqual(hours);
  });

  it('knows every zone of Windows, with the name of its summer time too', () => {
    const unknown = Object.keys(WINDOWS_ZONES).filter(
      (name) =>
        canonicalTimeZone(name) === undefined ||
        canonicalTimeZone(name.replace('standard', 'daylight')) !== canonicalTimeZone(name),
    );
    expect(unknown).toEqual([]);
  });

  it.each(Intl.supportedValuesOf('timeZone'))('keeps the zone %s, however it is encoded', (zone) => {
    const spellings = [
      zone,
      zone.toLowerCase(),
      zone.toUpperCase(),
      ` ${zone} `,
      `"${zone}"`,
      encodeURIComponent(zone),
    ];
    expect(spellings.map(canonicalTimeZone)).toEqual(spellings.map(() => zone));
  });

  it('returns a text that it takes as itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const zone = canonicalTimeZone(text);
        expect(zone === undefined || canonicalTimeZone(zone) === zone).toBe(true);
      }),
    );
  });
});
