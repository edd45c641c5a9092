/** Arrows go from message to message. What else a key does, the message that has the focus knows. */
export function onMessageListKey(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || event.altKey || !(event.currentTarget instanceof HTMLElement)) {
    return;
  }
  const messages = [...event.currentTarget.querySelectorAll<HTMLElement>(".message")];
  const index = messages.findIndex((message) => message === document.activeElement);
  const next = messages[index + step];
  if (index >= 0 && next) {
    event.preventDefault();
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
}
