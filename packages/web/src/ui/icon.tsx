/** Strokes on a grid of 24. */
const PATHS = {
  agents:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm8.5 1a2.5 2.5 0 1 0 0-5M2.5 19c.6-3 2.7-4.5 5.5-4.5s4.9 1.5 5.5 4.5M16 14.6c2.8 0 4.7 1.3 5.5 4.4',
  alert:
    'M12 8v5m0 3.2v.3M10.4 4.2 2.9 17.4A1.8 1.8 0 0 0 4.5 20h15a1.8 1.8 0 0 0 1.6-2.6L13.6 4.2a1.8 1.8 0 0 0-3.2 0Z',
  arrow: 'M12 19V5m-6 6 6-6 6 6',
  back: 'M15 5l-7 7 7 7',
  bell: 'M6 16.5V11a6 6 0 1 1 12 0v5.5l1.5 2h-15l1.5-2ZM10 21h4',
  chart: 'M4 20V4m0 16h16M8.5 16v-4m4 4V8m4 8v-6',
  chat: 'M4 6.5A2.5 2.5 0 0 1 6.5 4h11A2.5 2.5 0 0 1 20 6.5v7a2.5 2.5 0 0 1-2.5 2.5H10l-5 4v-4.4a2.5 2.5 0 0 1-1-2.1Z',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  chevron: 'm7 10 5 5 5-5',
  clock: 'M12 7v5l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0Z',
  close: 'M6 6l12 12M18 6 6 18',
  document: 'M7 3.5h7l4 4V20a.5.5 0 0 1-.5.5h-10A.5.5 0 0 1 7 20Zm7 0v4h4M9.8 12h5.4m-5.4 4h5.4',
  clip: 'm19.5 11.5-7.6 7.6a4.6 4.6 0 0 1-6.5-6.5l8-8a3 3 0 0 1 4.3 4.3l-7.8 7.8a1.4 1.4 0 0 1-2-2l7-7',
  key: 'M14 10a4 4 0 1 0-4 4 4 4 0 0 0 4-4Zm-1 3 7 7m-3-3 2-2',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  menu: 'M4 7h16M4 12h16M4 17h16',
  muted: 'M6 16.5V11a6 6 0 0 1 9.5-4.9M18 11v5.5l1.5 2H8M10 21h4M4 4l16 16',
  plus: 'M12 5v14m-7-7h14',
  receipt: 'M6 3.5h12V21l-2-1.4L14 21l-2-1.4L10 21l-2-1.4L6 21ZM9.5 8.5h5m-5 4h5',
  search: 'm20 20-4.5-4.5M17 10.5a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0Z',
  stop: 'M7.5 7.5h9v9h-9z',
  swarm:
    'M12 8.2a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4Zm-6.5 13a2.4 2.4 0 1 0 0-4.8 2.4 2.4 0 0 0 0 4.8Zm13 0a2.4 2.4 0 1 0 0-4.8 2.4 2.4 0 0 0 0 4.8ZM10.8 7.9l-4 8.6m6.4-8.6 4 8.6',
  tool: 'M14.5 6.2a4 4 0 0 1 4.9 4.9l-2.6-.6-1.7-1.7ZM15 9.5 5.8 18.7a1.8 1.8 0 0 1-2.5-2.5L12.5 7',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 8.5c.8-3.6 3.5-5.5 7-5.5s6.2 1.9 7 5.5',
} as const;
export type IconName = keyof typeof PATHS;

/** Decorates; the control beside it has the name. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
