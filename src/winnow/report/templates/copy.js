for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details:not(.provenance)")) fold.open = true;
});
