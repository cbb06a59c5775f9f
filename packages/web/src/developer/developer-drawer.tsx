/** Opens with Ctrl+. */
export function DeveloperDrawer() {
  return null;
}
