import { lazy, Suspense, useState, type ComponentProps } from 'react';
import type { Menu } from '../ui/menu.js';

const Loaded = lazy(async () => ({ default: (await import('../ui/menu.js')).Menu }));

/** A menu whose code is loaded when it is opened for the first time, because the header is on each screen. */
export function LazyMenu(props: ComponentProps<typeof Menu>) {
  const [wanted, setWanted] = useState(false);
  const button = (
    <button
      type="button"
      aria-label={props.label}
      aria-haspopup="menu"
      className={props.className}
      onClick={() => setWanted(true)}
    >
      {props.trigger}
    </button>
  );
  if (!wanted) return button;
  return (
    <Suspense fallback={button}>
      <Loaded {...props} open />
    </Suspense>
  );
}
