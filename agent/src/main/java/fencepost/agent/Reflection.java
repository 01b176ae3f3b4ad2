package fencepost.agent;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/** Members of BookKeeper's objects that advice reaches but cannot be compiled against. */
public final class Reflection {
    private Reflection() {}

    /** The value of a field of the object or of a class above its own. */
    public static Object field(Object object, String name) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field.get(object);
            } catch (NoSuchFieldException absent) {
                continue;
            } catch (IllegalAccessException error) {
                throw new IllegalStateException(error);
            }
        }
        throw new IllegalStateException(object.getClass() + " has no field " + name);
    }

    /** Gives a field of the object's class this value. */
    public static void set(Object object, String name, Object value) {
        try {
            Field field = object.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.set(object, value);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Calls a method of the object's class or one above it, chosen by its name and number of arguments. */
    public static Object call(Object object, String name, Object... arguments) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                    return invoke(method, object, arguments);
                }
            }
        }
        throw new IllegalStateException(object.getClass() + " has no method " + name);
    }

    /** Whether a method of this class whose name begins so is among the callers. */
    public static boolean calledBy(String type, String method) {
        return StackWalker.getInstance()
                .walk(frames -> frames.anyMatch(
                        one -> one.getClassName().equals(type) && one.getMethodName().startsWith(method)));
    }

    /** Whether the method that calls this was called by a class whose name begins so. */
    public static boolean calledFrom(String prefix) {
        return StackWalker.getInstance()
                .walk(frames -> frames.skip(2).findFirst())
                .map(caller -> caller.getClassName().startsWith(prefix))
                .orElse(false);
    }

    /** An RxJava {@code Single} of this value. */
    public static Object single(Object value) {
        try {
            Class<?> type = Class.forName("io.reactivex.rxjava3.core.Single");
            return invoke(type.getMethod("just", Object.class), null, value);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object invoke(Method method, Object object, Object... arguments) {
        try {
            method.setAccessible(true);
            return method.invoke(object, arguments);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
