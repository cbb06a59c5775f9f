import { describe, expect, it } from '@jest/globals';
import { notesOf, releaseSection, unwrapped, withUnreleased } from './changelog.mjs';

const CHANGELOG = `# Changelog

## Unreleased (0.3)

### Added

- Something.

## 0.2.0 - 2026-11-21

### Fixed

- Something else.

## 0.1.0 - 2026-11-01

- First.
`;

describe('the changelog of a release', () => {
  it('gives the unreleased section its version and date', () => {
    const released = releaseSection(CHANGELOG, '0.3.0', '2026-12-01');
    expect(released).toContain('\n## 0.3.0 - 2026-12-01\n\n### Added\n');
    expect(released).not.toContain('Unreleased');
    expect(notesOf(released, '0.3.0')).toBe('### Added\n\n- Something.');
    expect(notesOf(released, '0.1.0')).toBe('- First.');
  });

  it('begins an empty section above the newest one', () => {
    const next = withUnreleased(releaseSection(CHANGELOG, '0.3.0', '2026-12-01'), '0.4.0');
    expect(next).toContain('# Changelog\n\n## Unreleased (0.4)\n\n## 0.3.0 - 2026-12-01\n');
    expect(() => releaseSection(next, '0.4.0', '2026-12-02')).toThrow('CHANGELOG.md lists no unreleased change.');
  });

  it('has notes with one line for each entry', () => {
    const notes = '### Added\n\n- One\n  [two](a.md).\n  - Three\n    four.\n- Five.\n\n| a | b |\n| - | - |';
    expect(unwrapped(notes)).toBe('### Added\n\n- One [two](a.md).\n  - Three four.\n- Five.\n\n| a | b |\n| - | - |');
  });

  it('has no notes for a version that is not released', () => {
    expect(() => notesOf(CHANGELOG, '0.3.0')).toThrow('cut the release first');
    expect(() => notesOf(CHANGELOG, '0.2')).toThrow('cut the release first');
    expect(() => releaseSection('# Changelog\n', '0.3.0', '2026-12-01')).toThrow('no section "## Unreleased"');
  });
});
